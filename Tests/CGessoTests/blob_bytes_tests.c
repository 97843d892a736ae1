/* Blobs that are kept, and bytes that somebody made up. */
#include "blob_pictures.h"

/* Where the parts of a blob are, as BLOB.md has it. */
typedef struct layout {
    size_t table, entry, bands;
    uint32_t band_count;
} layout;

static uint32_t number_at(const uint8_t *blob, size_t *at)
{
    uint32_t value = 0;
    for (int shift = 0; shift < 35; shift += 7) {
        value |= (uint32_t)(blob[*at] & 127) << shift;
        if (blob[(*at)++] < 128) break;
    }
    return value;
}

static layout layout_of(const uint8_t *blob)
{
    layout l = {.table = 64, .entry = 24};
    if (blob[4] == 1) {
        memcpy(&l.band_count, blob + 36, 4);
        l.bands = 64 + (size_t)24 * l.band_count;
        return l;
    }
    size_t at = 6;
    number_at(blob, &at);
    uint32_t height = number_at(blob, &at), rows = number_at(blob, &at);
    l.table = at + (blob[at] ? 1 : 9), l.entry = 14;
    l.band_count = rows ? height / rows + (height % rows != 0) : 0;
    l.bands = l.table + (size_t)14 * l.band_count + 8;
    return l;
}

static void store_hash(uint8_t *at, const uint8_t *bytes, size_t length)
{
    uint64_t hash = XXH3_64bits(bytes, length);
    memcpy(at, &hash, 8);
}

/* Makes the checksums fit again, as somebody would who wants to be read. */
static void repair(uint8_t *blob, size_t length)
{
    if (length < 64 && blob[4] == 1) return;
    layout l = layout_of(blob);
    if (l.bands > length) return;
    bool is_old = blob[4] == 1;
    uint64_t begin = 0;
    for (uint32_t i = 0; i < l.band_count; i++) {
        uint8_t *entry = blob + l.table + i * l.entry;
        uint64_t end = 0, size = 0;
        if (is_old) {
            memcpy(&begin, entry, 8), memcpy(&size, entry + 8, 4);
        } else {
            memcpy(&end, entry + 1, 5);
            size = end - begin;
        }
        uint64_t offset = is_old ? begin : l.bands + begin;
        if (offset <= length && size <= length - offset) store_hash(entry + l.entry - 8, blob + offset, (size_t)size);
        begin = end;
    }
    if (is_old) store_hash(blob + 48, blob + 64, (size_t)l.band_count * 24), store_hash(blob + 56, blob, 56);
    else store_hash(blob + l.bands - 8, blob, l.bands - 8);
}

static gesso_bitmap *kept_picture(int kind, gesso_format format)
{
    return picture(kind, kind == 1 ? 301 : 40, kind == 1 ? 300 : 26, format);
}

/* A blob of Tests/Fixtures/blobs; GESSO_KEEP_BLOBS=1 writes those that are missing, and never another one over them. */
static size_t read_kept(int version, int kind, int format, uint8_t *blob, size_t most)
{
    char path[100];
    snprintf(path, sizeof path, "Tests/Fixtures/blobs/%d.0-%d-%d.gbl", version, kind, format);
    FILE *file = fopen(path, "rb");
    if (!file && version == 2 && getenv("GESSO_KEEP_BLOBS")) {
        gesso_bitmap *bitmap = kept_picture(kind, (gesso_format)format);
        size_t length;
        uint8_t *bytes = encoded(bitmap, GESSO_BLOB_FAST, &length);
        FILE *kept = fopen(path, "wb");
        CHECK(kept && fwrite(bytes, 1, length, kept) == length && fclose(kept) == 0);
        gesso_free(bytes);
        gesso_bitmap_release(bitmap);
        file = fopen(path, "rb");
    }
    CHECK(file != NULL);
    if (!file) return 0;
    size_t length = fread(blob, 1, most, file);
    fclose(file);
    return length;
}

static bool is_as_opaque_as_it_says(const gesso_bitmap *bitmap)
{
    for (uint32_t y = 0; gesso_bitmap_format(bitmap) == GESSO_FORMAT_XRGB32 && y < gesso_bitmap_height(bitmap); y++)
        for (uint32_t x = 0; x < gesso_bitmap_width(bitmap); x++)
            if (pixel(bitmap, (int)x, (int)y) >> 24 != 255) return false;
    return true;
}

static void forged_blobs_are_read_safely(void)
{
    uint64_t seed = 77;
    int accepted = 0, refused = 0;
    static uint8_t blob[1 << 16];
    for (int kind = 0; kind < KINDS; kind++)
        for (int variant = 0; variant < 6; variant++) {
            int version = 1 + variant % 2, format = GESSO_FORMAT_ARGB32 + variant / 2;
            if (version == 1 && kind >= KINDS_OF_VERSION_1) continue;
            size_t length = read_kept(version, kind, format, blob, sizeof blob);
            layout l = layout_of(blob);
            uint8_t *forged = malloc(length);
            for (int i = 0; i < 700; i++) {
                memcpy(forged, blob, length);
                int changes = 1 + (int)(random_next(&seed) % 3);
                for (int c = 0; c < changes; c++) {
                    /* Mostly what a band begins with, and its mode; the header now and then. */
                    size_t at = (size_t)random_next(&seed) % length;
                    if (i % 3 == 0) at = l.bands + (size_t)random_next(&seed) % 24;
                    if (i % 7 == 0) at = l.table + (version == 1 ? 12 : 0);
                    if (i % 11 == 0) at = 5 + (size_t)random_next(&seed) % (l.bands - 5);
                    if (at < length) forged[at] = (uint8_t)(i % 2 ? random_next(&seed) : random_next(&seed) % 6);
                }
                repair(forged, length);
                gesso_limits limits = {.struct_size = sizeof limits, .maximum_bytes = 1 << 20};
                gesso_blob_reading reading = {.struct_size = sizeof reading, .limits = &limits};
                gesso_bitmap *back = NULL, *part = NULL;
                /* Rows first, into some that are padded: what they are must be what all of it is. */
                gesso_blob_info info = {.struct_size = sizeof info};
                gesso_status read = GESSO_CORRUPT;
                uint32_t first = 0, rows = 0;
                if (gesso_blob_probe(forged, length, &info) == GESSO_OK && (uint64_t)info.width * info.height < 200000) {
                    first = (uint32_t)random_next(&seed) % info.height;
                    rows = 1 + (uint32_t)random_next(&seed) % (info.height - first);
                    size_t stride = (info.width * gesso_format_bytes_per_pixel(info.format) + 67) & ~(size_t)3;
                    static uint8_t memory[1200000 + 68 * 200000];
                    CHECK_STATUS(
                        gesso_bitmap_wrap(memory, info.width, rows, (ptrdiff_t)stride, info.format, 1, NULL, NULL, &part),
                        GESSO_OK);
                    read = gesso_blob_decode_rows(forged, length, NULL, first, rows, part);
                }
                if (gesso_blob_decode(forged, length, &reading, &back) == GESSO_OK) {
                    accepted++;
                    CHECK(!part || (read == GESSO_OK && rows_are_same(back, first, part, 0, rows)));
                    CHECK(is_as_opaque_as_it_says(back));
                    gesso_bitmap_release(back);
                } else {
                    refused++;
                    CHECK(reading.fault.what != NULL && reading.fault.offset <= length);
                }
                gesso_bitmap_release(part);
            }
            free(forged);
        }
    CHECK(accepted > 0 && refused > 0);
}

/* A byte that is changed, what a blob is cut by, and what it is refused for then, and where. */
typedef struct fault_case {
    size_t at;
    int change;
    size_t cut;
    gesso_status status;
    uint64_t offset;
    const char *what;
} fault_case;

static void check_faults(const uint8_t *blob, size_t length, const fault_case *cases, size_t count)
{
    uint8_t *copy = malloc(length);
    for (size_t i = 0; i < count; i++) {
        const fault_case *c = cases + i;
        memcpy(copy, blob, length);
        copy[c->at] ^= (uint8_t)c->change;
        gesso_blob_fault fault = {.struct_size = sizeof fault};
        CHECK_STATUS(gesso_blob_verify(copy, length - c->cut, &fault), c->status);
        CHECK(fault.offset == c->offset && strcmp(fault.what, c->what) == 0);
        gesso_blob_reading reading = {.struct_size = sizeof reading};
        gesso_bitmap *back = NULL;
        CHECK_STATUS(gesso_blob_decode(copy, length - c->cut, &reading, &back), c->status);
        CHECK(reading.fault.offset == c->offset && strcmp(reading.fault.what, c->what) == 0);
    }
    free(copy);
}

static void faults_say_what_and_where(void)
{
    gesso_bitmap *bitmap = picture(5, 301, 700, GESSO_FORMAT_ARGB32);
    size_t length;
    uint8_t *blob = encoded(bitmap, GESSO_BLOB_FAST, &length);
    gesso_blob_band last = {.struct_size = sizeof last};
    CHECK_STATUS(gesso_blob_bands_get(blob, length, 3, 1, &last), GESSO_OK);
    layout l = layout_of(blob);
    const fault_case cases[] = {
        {0, 1, 0, GESSO_NOT_RECOGNIZED, 0, "mark"},
        {0, 0, length - 30, GESSO_TRUNCATED, 30, "header"},
        {0, 0, length - 5, GESSO_TRUNCATED, 5, "header"},
        {0, 0, 7, GESSO_TRUNCATED, length - 7, "bytes"},
        {4, 1, 0, GESSO_UNSUPPORTED, 4, "version"},
        {5, 8, 0, GESSO_CORRUPT, l.bands - 8, "checksum of the header"},
        {6, 1, 0, GESSO_CORRUPT, l.bands - 8, "checksum of the header"},
        {l.table + 9, 1, 0, GESSO_CORRUPT, l.bands - 8, "checksum of the header"},
        {last.offset + 20, 1, 0, GESSO_CORRUPT, last.offset, "checksum of a band"}};
    check_faults(blob, length, cases, sizeof cases / sizeof *cases);
    gesso_limits limits = {.struct_size = sizeof limits, .maximum_height = 699};
    gesso_blob_reading reading = {.struct_size = sizeof reading, .limits = &limits};
    gesso_bitmap *back = NULL;
    CHECK_STATUS(gesso_blob_decode(blob, length, &reading, &back), GESSO_OVER_LIMIT);
    CHECK(reading.fault.offset == 6 && strcmp(reading.fault.what, "size of the picture") == 0);
    gesso_free(blob);
    gesso_bitmap_release(bitmap);
}

static void faults_of_version_1_say_what_and_where(void)
{
    static uint8_t blob[1 << 16];
    size_t length = read_kept(1, 1, GESSO_FORMAT_ARGB32, blob, sizeof blob);
    uint64_t last;
    memcpy(&last, blob + 64 + 24, 8);
    const fault_case cases[] = {
        {0, 0, length - 30, GESSO_TRUNCATED, 30, "header"},
        {0, 0, 7, GESSO_TRUNCATED, length - 7, "bytes"},
        {13, 1, 0, GESSO_CORRUPT, 56, "checksum of the header"},
        {64 + 9, 1, 0, GESSO_CORRUPT, 48, "checksum of the table"},
        {last + 2, 1, 0, GESSO_CORRUPT, last, "checksum of a band"}};
    check_faults(blob, length, cases, sizeof cases / sizeof *cases);
}

/* A header whose checksum is right, and whose numbers are not: each is refused by name. */
static void headers_that_lie_are_refused(void)
{
    /* An opaque picture of one colour, 3 × 2 pixels, two rows a band, at scale 1.5. */
    double scale = 1.5, none = 0;
    uint8_t blob[6 + 3 + 9 + 14 + 8 + 4] = {0x89, 'G', 'B', 'L', 2, 2 | 4, 3, 2, 2, 0};
    memcpy(blob + 10, &scale, 8);
    uint8_t *entry = blob + 18, *band = blob + 40;
    entry[0] = 1, entry[1] = 4;
    memcpy(band, (uint8_t[]){1, 2, 3, 255}, 4);
    repair(blob, sizeof blob);
    gesso_bitmap *back = NULL;
    CHECK_STATUS(gesso_blob_decode(blob, sizeof blob, NULL, &back), GESSO_OK);
    CHECK(pixel(back, 2, 1) == 0xff030201 && gesso_bitmap_scale(back) == 1.5 && gesso_bitmap_height(back) == 2);
    gesso_bitmap_release(back);
    const struct { size_t at; uint8_t value; gesso_status status; uint64_t offset; const char *what; } cases[] = {
        {5, 0 | 4, GESSO_UNSUPPORTED, 5, "pixel format"}, {5, 2 | 4 | 8, GESSO_UNSUPPORTED, 5, "flags"},
        {5, 2, GESSO_CORRUPT, 5, "flags"}, {5, 1 | 4, GESSO_CORRUPT, 5, "flags"}, {6, 0, GESSO_CORRUPT, 6, "width"},
        {7, 0, GESSO_CORRUPT, 7, "height"}, {8, 0, GESSO_CORRUPT, 8, "rows of a band"},
        {8, 3, GESSO_CORRUPT, 8, "rows of a band"} /* more than there are */, {18, 3, GESSO_UNSUPPORTED, 18, "mode of a band"}, {17, 0xff, GESSO_CORRUPT, 9, "scale"},
        {18, 7, GESSO_UNSUPPORTED, 18, "mode of a band"}, {19, 3, GESSO_CORRUPT, 43, "bytes behind the end"},
        {19, 5, GESSO_TRUNCATED, 44, "bytes"}, {23, 1, GESSO_TRUNCATED, 44, "bytes"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint8_t forged[sizeof blob];
        memcpy(forged, blob, sizeof blob);
        forged[cases[i].at] = cases[i].value;
        repair(forged, sizeof forged);
        gesso_blob_fault fault = {.struct_size = sizeof fault};
        CHECK_STATUS(gesso_blob_verify(forged, sizeof forged, &fault), cases[i].status);
        CHECK(fault.offset == cases[i].offset && strcmp(fault.what, cases[i].what) == 0);
    }
    memcpy(blob + 10, &none, 8);
    repair(blob, sizeof blob);
    CHECK_STATUS(gesso_blob_verify(blob, sizeof blob, NULL), GESSO_CORRUPT);
    /* Numbers that are too large, and of too many bytes. */
    const uint8_t numbers[][8] = {{255, 255, 255, 255, 16, 1, 1, 1}, {129, 128, 128, 128, 128, 0, 1, 1}};
    for (int i = 0; i < 2; i++) {
        gesso_blob_fault fault = {.struct_size = sizeof fault};
        memcpy(blob + 6, numbers[i], 8);
        CHECK_STATUS(gesso_blob_verify(blob, sizeof blob, &fault), GESSO_CORRUPT);
        CHECK(fault.offset == 6 && strcmp(fault.what, "size") == 0);
    }
    /* A table that would be larger than memory. */
    memcpy(blob + 6, (uint8_t[]){1, 255, 255, 255, 255, 15, 1, 1}, 8);
    CHECK_STATUS(gesso_blob_verify(blob, sizeof blob, NULL), GESSO_TRUNCATED);
}

static size_t put_number(uint8_t *blob, size_t at, uint32_t number)
{
    for (; number > 127; number >>= 7) blob[at++] = (uint8_t)(number | 128);
    blob[at] = (uint8_t)number;
    return at + 1;
}

/* One band of one colour may stand for more pixels than there is memory: what a reader would need for it is bounded. */
static void bands_and_rows_have_limits(void)
{
    const struct { uint32_t width, height, rows; const char *what; } cases[] = {
        {300000021, 2487550649, 2487550649, "rows of a band"}, {1, 600000000, 600000000, "rows of a band"},
        {2048, 2049, 2049, "rows of a band"}, {2048, 2048, 2048, NULL}, {0x7e000001, 1, 1, "width"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint8_t blob[64] = {0x89, 'G', 'B', 'L', 2, GESSO_FORMAT_A8};
        size_t at = put_number(blob, put_number(blob, put_number(blob, 6, cases[i].width), cases[i].height), cases[i].rows);
        blob[at] = 1, blob[at + 1] = 1, blob[at + 2] = 1;
        size_t length = at + 1 + 14 + 8 + 1;
        repair(blob, length);
        gesso_blob_fault fault = {.struct_size = sizeof fault};
        CHECK((gesso_blob_verify(blob, length, &fault) == GESSO_OK) == (cases[i].what == NULL));
        CHECK(!cases[i].what || strcmp(fault.what, cases[i].what) == 0);
    }
}

/* The header of version 1, with the right checksum and a number that cannot be. */
static void headers_of_version_1_that_lie_are_refused(void)
{
    static uint8_t blob[1 << 16];
    const struct { size_t at; uint32_t value; gesso_status status; const char *what; } cases[] = {
        {6, 65, GESSO_UNSUPPORTED, "size of the header"}, {8, 2, GESSO_UNSUPPORTED, "flags"}, {8, 1, GESSO_CORRUPT, "flags"},
        {20, 4, GESSO_UNSUPPORTED, "pixel format"}, {12, 0, GESSO_CORRUPT, "width"}, {16, 0, GESSO_CORRUPT, "height"},
        {28, 0x7ff00000, GESSO_CORRUPT, "scale"}, {28, 0x80000000, GESSO_CORRUPT, "scale"},
        {12, 600000000, GESSO_UNSUPPORTED, "width"}, {32, 0, GESSO_CORRUPT, "rows of a band"},
        {40, 87, GESSO_CORRUPT, "size of the blob"}, {40, 64, GESSO_CORRUPT, "size of the blob"},
        {40, 1 << 20, GESSO_TRUNCATED, "bytes"}, {40, 100, GESSO_CORRUPT, "bytes behind the end"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t length = read_kept(1, 5, GESSO_FORMAT_ARGB32, blob, sizeof blob);
        uint8_t *exactly = malloc(length); /* so that the sanitizer sees what is read behind */
        memcpy(exactly, blob, length);
        memcpy(exactly + cases[i].at, &cases[i].value, cases[i].at == 6 ? 2 : 4);
        store_hash(exactly + 56, exactly, 56);
        gesso_blob_fault fault = {.struct_size = sizeof fault};
        CHECK_STATUS(gesso_blob_verify(exactly, length, &fault), cases[i].status);
        CHECK(strcmp(fault.what, cases[i].what) == 0);
        free(exactly);
    }
}

/* Each version has its own modes, and version 1 bytes that it does not use. */
static void modes_are_of_a_version(void)
{
    static uint8_t blob[1 << 16];
    const struct { size_t at; uint8_t value; } lies[] = {{64 + 12, 5}, {64 + 12, 6}, {64 + 12, 7}, {64 + 13, 1}, {64 + 15, 1}};
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        size_t length = read_kept(1, 6, GESSO_FORMAT_ARGB32, blob, sizeof blob);
        blob[lies[i].at] = lies[i].value;
        repair(blob, length);
        gesso_blob_fault fault = {.struct_size = sizeof fault};
        CHECK_STATUS(gesso_blob_verify(blob, length, &fault), GESSO_UNSUPPORTED);
        CHECK(fault.offset == 64 + 12 && strcmp(fault.what, "mode of a band") == 0);
    }
}

/* Bands of a table that do not follow one another. */
static void bands_that_overlap_are_refused(void)
{
    gesso_bitmap *bitmap = picture(5, 301, 700, GESSO_FORMAT_ARGB32), *back = NULL;
    size_t length;
    uint8_t *blob = encoded(bitmap, GESSO_BLOB_FAST, &length);
    layout l = layout_of(blob);
    uint64_t ends[4] = {0};
    for (int i = 0; i < 4; i++) memcpy(ends + i, blob + l.table + 14 * i + 1, 5);
    const uint64_t lies[] = {ends[0] - 1, 0, ends[3] + 1, ((uint64_t)1 << 40) - 1};
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        memcpy(blob + l.table + 14 + 1, lies + i, 5);
        repair(blob, length);
        gesso_blob_reading reading = {.struct_size = sizeof reading};
        CHECK_STATUS(gesso_blob_decode(blob, length, &reading, &back), GESSO_CORRUPT);
        CHECK(strcmp(reading.fault.what, "length of a band") == 0);
    }
    gesso_free(blob);
    gesso_bitmap_release(bitmap);
}

/* Blobs that were once written, of every mode, kind of pixel and number of bands: they are read for ever. */
static void kept_blobs_are_read_for_ever(void)
{
    static uint8_t blob[1 << 16];
    for (int version = 1; version <= 2; version++) {
        unsigned modes = 0, ways = 0;
        for (int kind = 0; kind < (version == 1 ? KINDS_OF_VERSION_1 : KINDS); kind++)
            for (int format = GESSO_FORMAT_ARGB32; format <= GESSO_FORMAT_A8; format++) {
                gesso_bitmap *bitmap = kept_picture(kind, (gesso_format)format), *back = NULL;
                size_t length = read_kept(version, kind, format, blob, sizeof blob);
                CHECK_STATUS(gesso_blob_decode(blob, length, NULL, &back), GESSO_OK);
                CHECK(back && rows_are_same(bitmap, 0, back, 0, gesso_bitmap_height(bitmap)));
                CHECK(gesso_bitmap_scale(back) == gesso_bitmap_scale(bitmap) && gesso_bitmap_format(back) == (gesso_format)format);
                layout l = layout_of(blob);
                for (uint32_t band = 0; band < l.band_count; band++) {
                    uint8_t mode = blob[l.table + band * l.entry + (version == 1 ? 12 : 0)];
                    modes |= 1u << mode;
                    if (band == 0 && mode == 3) ways |= 1u << (blob[l.bands + 16] >> 1);
                    if (band == 0 && mode == 5) ways |= 1u << (blob[l.bands] >> 1 & 3) | (blob[l.bands] > 15 ? 8 : 0);
                }
                gesso_bitmap_release(back);
                gesso_bitmap_release(bitmap);
            }
        CHECK(modes == (version == 1 ? 0x1f : 0x77));
        CHECK(ways == (version == 1 ? 7 : 15)); /* of literals: as they are, differences, a palette, planes by LZ4 */
    }
}

const check_test blob_bytes_tests[] = {
    TEST(faults_say_what_and_where, "a fault says what does not fit, and at which byte"),
    TEST(faults_of_version_1_say_what_and_where, "and so do those of a blob of version 1"),
    TEST(headers_that_lie_are_refused, "a header with the right checksum is refused for each number that cannot be"),
    TEST(headers_of_version_1_that_lie_are_refused, "and so is one of version 1"),
    TEST(bands_and_rows_have_limits, "what a band or a row may take to be read is bounded, whatever a header says"),
    TEST(modes_are_of_a_version, "modes of another version are refused"),
    TEST(bands_that_overlap_are_refused, "bands that do not follow one another are refused"),
    TEST(kept_blobs_are_read_for_ever, "blobs that an older version wrote are read"),
    TEST(forged_blobs_are_read_safely, "a forged blob with the right checksums is read safely"),
    {0}};
