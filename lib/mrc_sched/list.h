/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * list.h - intrusive circular lists: O(1) insert and remove, no memory of their own. A link that
 * points at itself is on no list.
 */
#ifndef LIST_H
#define LIST_H

#include <stdbool.h>
#include <stddef.h>

struct link {
	struct link *next, *prev;
};

#define LIST_OWNER(ptr, type, member)                                                              \
	((type *)(void *)((char *)(void *)(ptr)-offsetof(type, member)))

static inline void list_init(struct link *head)
{
	head->next = head;
	head->prev = head;
}

static inline bool list_empty(const struct link *head)
{
	return head->next == head;
}

/* For an element: is it on a list? */
static inline bool list_linked(const struct link *link)
{
	return link->next != link;
}

static inline void list_push(struct link *head, struct link *link)
{
	link->next = head;
	link->prev = head->prev;
	head->prev->next = link;
	head->prev = link;
}

static inline void list_remove(struct link *link)
{
	link->next->prev = link->prev;
	link->prev->next = link->next;
	list_init(link);
}

/* Moves all elements of a list behind those of another. */
static inline void list_splice(struct link *to, struct link *from)
{
	if (list_empty(from))
		return;
	from->next->prev = to->prev;
	from->prev->next = to;
	to->prev->next = from->next;
	to->prev = from->prev;
	list_init(from);
}

/* Puts an element at the tail unless it is on a list already. */
static inline void list_want(struct link *head, struct link *link)
{
	if (!list_linked(link))
		list_push(head, link);
}

#endif
