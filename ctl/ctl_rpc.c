/* SPDX-License-Identifier: BSD-2-Clause */
#include "ctl_rpc.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct hello_params {
	uint32_t version;
};

static const struct mrc_ctl_field hello_fields[] = {
	{.key = "version",
		.type = MRC_CTL_TYPE_UINT,
		.flags = MRC_CTL_REQUIRED,
		MRC_CTL_AT(struct hello_params, version)},
	MRC_CTL_END,
};
static const struct mrc_ctl_table hello_table = {hello_fields, sizeof(struct hello_params), NULL};

const char *mrc_rpc_code_text(int code)
{
#define CASE(name, number, text)                                                                   \
	case number:                                                                               \
		return text;
	switch (code) {
		MRC_RPC_LIST(CASE)
	default:
		return "?";
	}
#undef CASE
}

int mrc_rpc_fail(struct mrc_rpc_reply *reply, int code, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(reply->text, sizeof(reply->text), fmt, args);
	va_end(args);
	reply->code = code;
	return code;
}

static int fail_plain(struct mrc_rpc_reply *reply, int code)
{
	return mrc_rpc_fail(reply, code, "%s", mrc_rpc_code_text(code));
}

/* ---- objects ----------------------------------------------------------------------------------*/

static json_t *error_object(int code, const char *text)
{
	return json_pack("{s:i, s:s}", "code", code, "message", text);
}

/* Steals result or error; id is borrowed. */
static json_t *response(const char *what, json_t *value, const json_t *id)
{
	json_t *object = json_pack("{s:s}", "jsonrpc", "2.0");

	if (object == NULL || value == NULL) {
		json_decref(value);
		json_decref(object);
		return NULL;
	}
	json_object_set_new(object, what, value);
	json_object_set_new(object, "id", id != NULL ? json_deep_copy(id) : json_null());
	return object;
}

static char *line_of(json_t *object)
{
	const size_t flags = JSON_COMPACT | JSON_REAL_PRECISION(15);
	size_t len = object != NULL ? json_dumpb(object, NULL, 0, flags) : 0;
	char *line = len > 0 ? malloc(len + 2) : NULL;

	if (line != NULL) {
		json_dumpb(object, line, len, flags);
		line[len] = '\n';
		line[len + 1] = '\0';
	}
	json_decref(object);
	return line;
}

char *mrc_rpc_error_line(int code, const char *text)
{
	return line_of(response(
		"error", error_object(code, text != NULL ? text : mrc_rpc_code_text(code)), NULL));
}

/* ---- calls ------------------------------------------------------------------------------------*/

static json_t *method_names(const struct mrc_rpc *rpc)
{
	json_t *names = json_pack("[s]", "hello");

	for (const struct mrc_rpc_method *m = rpc->methods; m->name != NULL; m++)
		json_array_append_new(names, json_string(m->name));
	return names;
}

static int hello(const struct mrc_rpc *rpc, struct mrc_rpc_peer *peer, const json_t *params,
	struct mrc_rpc_reply *reply)
{
	struct mrc_ctl_error error;
	struct hello_params want = {0};
	json_t *none = NULL;
	int err;

	if (params == NULL)
		params = none = json_object();
	err = mrc_ctl_decode("hello", params, &hello_table, &want, &error);
	json_decref(none);
	if (err != MRC_OK)
		return mrc_rpc_fail(reply, MRC_RPC_PARAMS, "%s", error.text);
	if (want.version != MRC_RPC_VERSION)
		return mrc_rpc_fail(reply, MRC_RPC_HELLO, "hello: version %u; this %s speaks %d",
			want.version, rpc->program, MRC_RPC_VERSION);
	peer->greeted = true;
	reply->result = json_pack("{s:i, s:s, s:s, s:b, s:o}", "version", MRC_RPC_VERSION,
		"program", rpc->program, "release", rpc->release, "may_change", peer->may_change,
		"methods", method_names(rpc));
	return reply->result != NULL ? MRC_RPC_GOOD : fail_plain(reply, MRC_RPC_INTERNAL);
}

static const char *method_name(const void *list, uint32_t i)
{
	return ((const struct mrc_rpc_method *)list)[i].name;
}

static const struct mrc_rpc_method *method_find(
	const struct mrc_rpc *rpc, const char *name, struct mrc_rpc_reply *reply)
{
	const char *near;

	for (const struct mrc_rpc_method *m = rpc->methods; m->name != NULL; m++)
		if (strcmp(m->name, name) == 0)
			return m;
	near = mrc_ctl_nearest(name, method_name, rpc->methods);
	if (near != NULL)
		mrc_rpc_fail(reply, MRC_RPC_METHOD, "no method \"%.64s\"; did you mean \"%s\"?",
			name, near);
	else
		mrc_rpc_fail(reply, MRC_RPC_METHOD,
			"no method \"%.64s\"; \"hello\" lists the methods", name);
	return NULL;
}

static int method_call(const struct mrc_rpc *rpc, const struct mrc_rpc_method *method,
	const json_t *params, struct mrc_rpc_reply *reply)
{
	static const struct mrc_ctl_field no_fields[] = {MRC_CTL_END};
	static const struct mrc_ctl_table no_params = {no_fields, 1, NULL};
	const struct mrc_ctl_table *table = method->params != NULL ? method->params : &no_params;
	void *decoded = calloc(1, table->size);
	json_t *none = params == NULL ? json_object() : NULL;
	struct mrc_ctl_error error;
	int code = MRC_RPC_INTERNAL;

	if (decoded == NULL || (params == NULL && none == NULL)) {
		fail_plain(reply, MRC_RPC_INTERNAL);
		goto done;
	}
	if (method->init != NULL)
		method->init(decoded);
	if (mrc_ctl_decode(method->name, params != NULL ? params : none, table, decoded, &error) !=
		MRC_OK) {
		code = mrc_rpc_fail(reply, MRC_RPC_PARAMS, "%s", error.text);
		goto done;
	}
	code = method->handle(rpc->ctx, decoded, reply);
	if (code == MRC_RPC_GOOD && reply->result == NULL)
		code = fail_plain(reply, MRC_RPC_INTERNAL);
done:
	json_decref(none);
	free(decoded);
	return code;
}

/* Who may call what, when; then the call itself. */
static int call(const struct mrc_rpc *rpc, struct mrc_rpc_peer *peer, const char *name,
	const json_t *params, struct mrc_rpc_reply *reply)
{
	const struct mrc_rpc_method *method;

	if (strcmp(name, "hello") == 0)
		return hello(rpc, peer, params, reply);
	if (!peer->greeted)
		return mrc_rpc_fail(reply, MRC_RPC_HELLO,
			"say hello first: {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"hello\","
			"\"params\":{\"version\":%d}}",
			MRC_RPC_VERSION);
	method = method_find(rpc, name, reply);
	if (method == NULL)
		return MRC_RPC_METHOD;
	if ((method->flags & MRC_RPC_CHANGES) != 0 && !peer->may_change)
		return fail_plain(reply, MRC_RPC_DENIED);
	if (method->states != 0 && (method->states & rpc->state) == 0)
		return fail_plain(reply, MRC_RPC_STATE);
	return method_call(rpc, method, params, reply);
}

/* ---- requests ---------------------------------------------------------------------------------*/

/* What is wrong with the form of a request; NULL: nothing. */
static const char *form_fault(const json_t *request)
{
	static const char *const known[] = {"jsonrpc", "method", "params", "id"};
	json_t *object = (json_t *)(uintptr_t)request; /* the iterator lacks a const form */
	const json_t *id = json_object_get(request, "id");
	const json_t *params = json_object_get(request, "params");
	const char *version = json_string_value(json_object_get(request, "jsonrpc"));
	const char *key;
	json_t *value;

	if (!json_is_object(request))
		return "a request is an object {...}";
	if (version == NULL || strcmp(version, "2.0") != 0)
		return "\"jsonrpc\" must be \"2.0\"";
	if (!json_is_string(json_object_get(request, "method")))
		return "\"method\" must be a string";
	if (id != NULL && !json_is_string(id) && !json_is_number(id) && !json_is_null(id))
		return "\"id\" must be a string, a number or null";
	if (params != NULL && !json_is_object(params))
		return "\"params\" must be an object: parameters have names";
	json_object_foreach(object, key, value)
	{
		bool found = false;

		for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
			found |= strcmp(key, known[i]) == 0;
		if (!found)
			return "keys of a request are jsonrpc, method, params and id";
	}
	return NULL;
}

/* The response to one request, NULL for a notification. */
static json_t *request_answer(
	const struct mrc_rpc *rpc, struct mrc_rpc_peer *peer, const json_t *request)
{
	const char *fault = form_fault(request);
	const json_t *id = json_object_get(request, "id");
	struct mrc_rpc_reply reply = {.code = MRC_RPC_GOOD};
	int code;

	if (fault != NULL) {
		const bool echo = json_is_string(id) || json_is_number(id);

		return response("error", error_object(MRC_RPC_REQUEST, fault), echo ? id : NULL);
	}
	code = call(rpc, peer, json_string_value(json_object_get(request, "method")),
		json_object_get(request, "params"), &reply);
	if (code != MRC_RPC_GOOD) {
		json_decref(reply.result);
		reply.result = NULL;
	}
	if (id == NULL) {
		json_decref(reply.result);
		return NULL;
	}
	return code == MRC_RPC_GOOD ? response("result", reply.result, id)
				    : response("error", error_object(code, reply.text), id);
}

static json_t *batch_answer(
	const struct mrc_rpc *rpc, struct mrc_rpc_peer *peer, const json_t *batch)
{
	json_t *answers = json_array();

	for (size_t i = 0; i < json_array_size(batch); i++) {
		json_t *answer = request_answer(rpc, peer, json_array_get(batch, i));

		if (answer != NULL)
			json_array_append_new(answers, answer);
	}
	if (json_array_size(answers) > 0)
		return answers;
	json_decref(answers);
	return NULL;
}

char *mrc_rpc_answer(const struct mrc_rpc *rpc, struct mrc_rpc_peer *peer, const char *text,
	size_t len, size_t max_len)
{
	struct mrc_ctl_error error = {.line = 0};
	char refused[64];
	json_t *value, *answer;

	if (len > max_len) {
		snprintf(refused, sizeof(refused), "request longer than %zu bytes", max_len);
		return mrc_rpc_error_line(MRC_RPC_TOO_LONG, refused);
	}
	value = mrc_ctl_parse("request", text, len, max_len, &error);
	if (value == NULL)
		return mrc_rpc_error_line(
			error.limit ? MRC_RPC_TOO_DEEP : MRC_RPC_PARSE, error.text);
	if (!json_is_array(value)) {
		answer = request_answer(rpc, peer, value);
	} else if (json_array_size(value) == 0) {
		answer = response(
			"error", error_object(MRC_RPC_REQUEST, "a batch is not empty"), NULL);
	} else if (json_array_size(value) > MRC_RPC_BATCH_MAX) {
		snprintf(refused, sizeof(refused), "more than %d calls in a batch",
			MRC_RPC_BATCH_MAX);
		answer = response("error", error_object(MRC_RPC_BATCH, refused), NULL);
	} else {
		answer = batch_answer(rpc, peer, value);
	}
	json_decref(value);
	return answer != NULL ? line_of(answer) : NULL;
}
