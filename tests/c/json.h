/* A small JSON reader for the conformance vectors: the whole text becomes a tree that is freed at once. */
#ifndef JSON_H
#define JSON_H

#include <stddef.h>
#include <stdint.h>

enum json_kind { JSON_NULL, JSON_FALSE, JSON_TRUE, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT };

struct json {
  enum json_kind kind;
  char *key;           /* within an object; else NULL */
  char *text;          /* of a string, unescaped, or of a number as it stands */
  struct json *first;  /* element of an array, member of an object */
  struct json *next;   /* sibling */
};

/* Reads a whole text. NULL where it is not JSON or memory is out; *problem then says what was expected, and where. */
struct json *json_read(const char *text, char *problem, size_t size);

void json_free(struct json *value);

/* A member of an object; NULL where there is none, or it is null, or the value is no object. */
const struct json *json_member(const struct json *object, const char *key);

/* An integer, written as a number or as a string of digits. 0 where it is neither, or out of range. */
int json_unsigned(const struct json *value, uint64_t *number);
int json_signed(const struct json *value, int64_t *number);

#endif
