/* Rows parted into groups that agree in some columns, one column after the other. */
#include "groups.h"

/* What the rows of a group have in common: the group that they were in before, and a value. */
typedef struct {
    int64_t value;
    uint32_t before, null;
} Key;

typedef struct {
    Groups *groups;
    size_t at; /* the row to come */
    Key *keys; /* of each group */
    uint32_t *slots; /* hash of the keys: group + 1 */
    size_t slot_room;
} Parting;

static int enough(Groups *groups, Parting *parting) {
    if (groups->count < groups->room) return 1;
    uint32_t room = groups->room ? 2 * groups->room : 1024;
    uint32_t *first = realloc(groups->first, room * sizeof *first);
    if (first != NULL) groups->first = first;
    Key *keys = realloc(parting->keys, room * sizeof *keys);
    if (keys != NULL) parting->keys = keys;
    if (first == NULL || keys == NULL) return 0;
    groups->room = room;
    return 1;
}

static size_t slot_of(const Parting *parting, const Key *key) {
    uint64_t hash = ((uint64_t)key->value + 0x9e3779b97f4a7c15u * (key->before + 1)) * 0xff51afd7ed558ccdu;
    return (size_t)(hash ^ (hash >> 32)) & (parting->slot_room - 1);
}

static int rehash(Parting *parting) {
    if (2 * (size_t)parting->groups->count < parting->slot_room) return 1;
    free(parting->slots);
    parting->slot_room = parting->slot_room ? 4 * parting->slot_room : 4096;
    parting->slots = calloc(parting->slot_room, sizeof *parting->slots);
    if (parting->slots == NULL) return 0;
    for (uint32_t group = 0; group < parting->groups->count; group++) {
        size_t slot = slot_of(parting, &parting->keys[group]);
        while (parting->slots[slot]) slot = (slot + 1) & (parting->slot_room - 1);
        parting->slots[slot] = group + 1;
    }
    return 1;
}

static int is_same(const Key *one, const Key *other) {
    return one->value == other->value && one->before == other->before && one->null == other->null;
}

static int part_array(const struct ArrowArray *array, void *state) {
    Parting *parting = state;
    Groups *groups = parting->groups;
    if (parting->at + (size_t)array->length > groups->rows) return -1;
    const int64_t *values = (const int64_t *)array->buffers[1] + array->offset;
    for (int64_t number = 0; number < array->length; number++, parting->at++) {
        uint32_t null = (uint32_t)is_null(array, array->offset + number);
        Key key = {null ? 0 : values[number], groups->of[parting->at], null};
        size_t slot = slot_of(parting, &key);
        while (parting->slots[slot] && !is_same(&parting->keys[parting->slots[slot] - 1], &key)) slot = (slot + 1) & (parting->slot_room - 1);
        if (parting->slots[slot]) {
            groups->of[parting->at] = parting->slots[slot] - 1;
            continue;
        }
        if (!enough(groups, parting)) return 0;
        uint32_t group = groups->count++;
        groups->of[parting->at] = group;
        groups->first[group] = (uint32_t)parting->at;
        parting->keys[group] = key;
        parting->slots[slot] = group + 1;
        if (!rehash(parting)) return 0;
    }
    return 1;
}

int part_by(Groups *groups, struct ArrowArrayStream *stream) {
    if (number_format(stream) == NULL) return -1;
    Parting parting = {.groups = groups};
    groups->count = groups->room = 0;
    int done = rehash(&parting) ? each_array(stream, part_array, &parting) : 0;
    if (done == 1 && parting.at != groups->rows) done = -1;
    free(parting.keys), free(parting.slots);
    return done;
}
