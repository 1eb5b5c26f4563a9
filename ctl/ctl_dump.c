/* SPDX-License-Identifier: BSD-2-Clause */
/* C structs to JSON, by the tables that decode them. */
#include <stdio.h>
#include <string.h>

#include "ctl_decode.h"
#include "ctl_private.h"

static json_t *dump_uint(const struct mrc_ctl_field *field, const void *member)
{
	uint64_t number = mrc_ctl_uint_get(member, field->size);
	char text[24];

	if (field->unit == MRC_CTL_UNIT_HEX) {
		snprintf(text, sizeof(text), "0x%llx", (unsigned long long)number);
		return json_string(text);
	}
	if (number > INT64_MAX) {
		snprintf(text, sizeof(text), "%llu", (unsigned long long)number);
		return json_string(text);
	}
	return json_integer((json_int_t)number);
}

static json_t *dump_enum(const struct mrc_ctl_field *field, const void *member)
{
	uint64_t number = mrc_ctl_uint_get(member, field->size);

	for (const struct mrc_ctl_name *n = field->names; n->name != NULL; n++)
		if (n->value == number)
			return json_string(n->name);
	return json_null();
}

static json_t *dump_double(const void *member)
{
	double number;

	memcpy(&number, member, sizeof(number));
	return json_real(number);
}

static json_t *dump_value(const struct mrc_ctl_field *field, const uint8_t *member);

static json_t *dump_array(const struct mrc_ctl_field *field, const uint8_t *obj)
{
	json_t *array = json_array();
	uint32_t nb;

	memcpy(&nb, obj + field->count_offset, sizeof(nb));
	for (uint32_t i = 0; i < nb && i < field->max; i++)
		json_array_append_new(array,
			dump_value(field->elem, obj + field->offset + (size_t)i * field->size));
	return array;
}

static json_t *dump_value(const struct mrc_ctl_field *field, const uint8_t *member)
{
	switch (field->type) {
	case MRC_CTL_TYPE_BOOL:
		return json_boolean(*(const bool *)member);
	case MRC_CTL_TYPE_UINT:
		return dump_uint(field, member);
	case MRC_CTL_TYPE_DOUBLE:
		return dump_double(member);
	case MRC_CTL_TYPE_STRING:
		return json_string((const char *)member);
	case MRC_CTL_TYPE_ENUM:
		return dump_enum(field, member);
	case MRC_CTL_TYPE_OBJECT:
		return mrc_ctl_dump(field->table, member);
	case MRC_CTL_TYPE_ARRAY:
		return dump_array(field, member - field->offset);
	case MRC_CTL_TYPE_CUSTOM:
		return field->dump != NULL ? field->dump(field, member) : NULL;
	}
	return NULL;
}

json_t *mrc_ctl_dump(const struct mrc_ctl_table *table, const void *obj)
{
	json_t *object = json_object();

	for (const struct mrc_ctl_field *f = table->fields; f->key != NULL; f++) {
		json_t *value = dump_value(f, (const uint8_t *)obj + f->offset);

		if (value != NULL && json_object_set_new(object, f->key, value) != 0) {
			json_decref(object);
			return NULL;
		}
	}
	return object;
}
