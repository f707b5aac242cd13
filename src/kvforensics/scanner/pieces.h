/* Lines of bytes that are cut anywhere. */
#ifndef KVFORENSICS_PIECES_H
#define KVFORENSICS_PIECES_H
#include "arrow.h"

/* Where a line begins: in which of the texts' buffers, behind the last of them for one that was put together. */
typedef struct {
    int32_t buffer;
    uint32_t start;
} Spot;

/* Takes a line without its line end; 1: go on. */
typedef int TakeLine(void *state, const char *text, size_t size, Spot spot);

/* Take the lines of texts in turn, what is cut put together in `joined`; 1: all of them; 0: no memory;
   -1: they are not UTF-8, or too long; else what stopped. */
int each_line(const Texts *texts, Bytes *joined, TakeLine *take, void *state);

/* Add a text to views of 16 bytes; 0: no memory. */
int add_view(Bytes *views, const char *text, size_t size, Spot spot);

#endif
