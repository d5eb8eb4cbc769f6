/* What the examples share: a program that ends where a call does not return BL_OK, and calls of functions of two operands. */
#ifndef CHECKED_H
#define CHECKED_H

#include <broadloom.h>

#include <stdio.h>
#include <stdlib.h>

/* Ends the program with the message of a status other than BL_OK. */
static inline void ok(bl_status status, const char *what) {
    if (status != BL_OK) {
        fprintf(stderr, "%s: %s: %s\n", what, bl_status_name(status), bl_last_error());
        exit(1);
    }
}
#define OK(call) ok(call, #call)

static inline bl_value apply(bl_builder b, const char *function, bl_value x, bl_value y) {
    bl_value out;
    OK(bl_builder_apply(b, function, (bl_value[]){x, y}, 2, &out));
    return out;
}

#endif
