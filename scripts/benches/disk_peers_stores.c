/* The disk bench's peers: a file for each key, SQLite, LMDB, and RocksDB. */
#define _GNU_SOURCE
#include "disk_peers.h"

#include <errno.h>
#include <fcntl.h>
#include <lmdb.h>
#include <rocksdb/c.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

void make_folder(int parent, const char *path)
{
    if (mkdirat(parent, path, 0755) && errno != EEXIST) fail("mkdir %s: %s", path, strerror(errno));
}

/* MARK: A file for each key, in 256 folders by its hash */

static int root = -1;

static const char *file_path(size_t i)
{
    static char path[KEY_ROOM + 8];
    snprintf(path, sizeof path, "%02x/%s", (unsigned)(XXH3_64bits(keys[i], key_length) & 255), keys[i]);
    return path;
}

static void file_fail(const char *call, const char *path) { fail("%s %s: %s", call, path, strerror(errno)); }

void open_root(const char *folder)
{
    root = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (root < 0) file_fail("open", folder);
}

static void file_open(const char *folder)
{
    char name[3];
    open_root(folder);
    for (unsigned i = 0; i < 256; i++) {
        snprintf(name, sizeof name, "%02x", i);
        make_folder(root, name);
    }
}

static void nothing(void) {}

void write_file(const char *path, record value, bool durably)
{
    char new_path[KEY_ROOM + 12];
    snprintf(new_path, sizeof new_path, "%s.new", path);
    int file = openat(root, new_path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (file < 0) file_fail("open", new_path);
    for (size_t written = 0; written < value.length;) {
        ssize_t more = write(file, value.bytes + written, value.length - written);
        if (more < 0) file_fail("write", new_path);
        written += (size_t)more;
    }
    if (durably && fsync(file)) file_fail("fsync", new_path);
    if (close(file)) file_fail("close", new_path);
    if (renameat(root, new_path, root, path)) file_fail("rename", new_path);
    if (durably && fsync(root)) file_fail("fsync the folder of", path);
}

static void file_put(size_t i, record value) { write_file(file_path(i), value, false); }

static size_t file_get(size_t i, uint8_t *out, size_t capacity)
{
    const char *path = file_path(i);
    int file = openat(root, path, O_RDONLY | O_CLOEXEC);
    if (file < 0 && errno == ENOENT) return 0;
    if (file < 0) file_fail("open", path);
    ssize_t length = read(file, out, capacity);
    if (length < 0) file_fail("read", path);
    close(file);
    return (size_t)length;
}

static void file_remove(size_t i)
{
    if (unlinkat(root, file_path(i), 0)) file_fail("unlink", file_path(i));
}

void close_root(void) { close(root); }

/* MARK: SQLite
 *
 * Values are in the rows, in the layout that was the fastest: WITHOUT ROWID, gets took six times as long, as what a
 * search compares with is then read with its value. Tuned, larger pages make shorter chains of them for a value, and
 * reading them from a mapping saves a copy. NORMAL is the least at which a power failure does not break the database: it syncs
 * when the log is written back, not at each commit. */

static sqlite3 *sqlite;
static sqlite3_stmt *sqlite_inserting, *sqlite_selecting, *sqlite_deleting, *sqlite_beginning, *sqlite_committing;

static void sqlite_check(bool worked, const char *call)
{
    if (!worked) fail("%s: %s", call, sqlite ? sqlite3_errmsg(sqlite) : "no memory");
}

static sqlite3_stmt *sqlite_prepare(const char *sql)
{
    sqlite3_stmt *statement;
    sqlite_check(!sqlite3_prepare_v3(sqlite, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, NULL), sql);
    return statement;
}

static void sqlite_open(const char *folder)
{
    char path[PATH_ROOM];
    snprintf(path, sizeof path, "%s/blobs.db", folder);
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    sqlite_check(!sqlite3_open_v2(path, &sqlite, flags, NULL), path);
    if (is_tuned)
        sqlite_check(!sqlite3_exec(sqlite, "PRAGMA page_size = 16384; PRAGMA mmap_size = 1073741824", NULL, NULL, NULL),
                     "setup");
    const char *setup = "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;"
                        "CREATE TABLE IF NOT EXISTS blobs(key BLOB PRIMARY KEY, value BLOB);"
                        "PRAGMA wal_checkpoint(TRUNCATE)";
    sqlite_check(!sqlite3_exec(sqlite, setup, NULL, NULL, NULL), "setup");
    /* What is committed is in the log, in the kernel, which is all that is asked of a close. */
    sqlite_check(!sqlite3_db_config(sqlite, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL), "setup");
    sqlite_beginning = sqlite_prepare("BEGIN IMMEDIATE");
    sqlite_committing = sqlite_prepare("COMMIT");
    sqlite_inserting = sqlite_prepare("INSERT OR REPLACE INTO blobs VALUES (?, ?)");
    sqlite_selecting = sqlite_prepare("SELECT value FROM blobs WHERE key = ?");
    sqlite_deleting = sqlite_prepare("DELETE FROM blobs WHERE key = ?");
}

static void sqlite_run(sqlite3_stmt *statement)
{
    sqlite_check(sqlite3_step(statement) == SQLITE_DONE, sqlite3_sql(statement));
    sqlite3_reset(statement);
}

static void sqlite_bind_key(sqlite3_stmt *statement, size_t i)
{
    sqlite_check(!sqlite3_bind_blob(statement, 1, keys[i], (int)key_length, SQLITE_STATIC), "bind");
}

static void sqlite_begin(void) { sqlite_run(sqlite_beginning); }

static void sqlite_put(size_t i, record value)
{
    sqlite_bind_key(sqlite_inserting, i);
    sqlite_check(!sqlite3_bind_blob(sqlite_inserting, 2, value.bytes, (int)value.length, SQLITE_STATIC), "bind");
    sqlite_run(sqlite_inserting);
}

static size_t sqlite_get(size_t i, uint8_t *out, size_t capacity)
{
    sqlite_bind_key(sqlite_selecting, i);
    int state = sqlite3_step(sqlite_selecting);
    sqlite_check(state == SQLITE_ROW || state == SQLITE_DONE, "select");
    size_t length = 0;
    if (state == SQLITE_ROW) {
        const void *value = sqlite3_column_blob(sqlite_selecting, 0);
        length = (size_t)sqlite3_column_bytes(sqlite_selecting, 0);
        if (!value || length > capacity) fail("%s has %zu bytes", keys[i], length);
        memcpy(out, value, length);
    }
    sqlite3_reset(sqlite_selecting);
    return length;
}

static void sqlite_remove(size_t i)
{
    sqlite_bind_key(sqlite_deleting, i);
    sqlite_run(sqlite_deleting);
    if (sqlite3_changes(sqlite) != 1) fail("%s was not there to delete", keys[i]);
}

static void sqlite_commit(void) { sqlite_run(sqlite_committing); }

static void sqlite_close(void)
{
    sqlite3_stmt *statements[] = {
        sqlite_inserting, sqlite_selecting, sqlite_deleting, sqlite_beginning, sqlite_committing};
    for (size_t i = 0; i < sizeof statements / sizeof *statements; i++) sqlite3_finalize(statements[i]);
    sqlite_check(!sqlite3_close(sqlite), "close");
}

/* MARK: LMDB */

static MDB_env *lmdb;
static MDB_dbi lmdb_blobs;
static MDB_txn *lmdb_writing, *lmdb_reading;

static void lmdb_check(int error, const char *call)
{
    if (error) fail("%s: %s", call, mdb_strerror(error));
}

static void lmdb_open(const char *folder)
{
    MDB_txn *transaction;
    lmdb_check(mdb_env_create(&lmdb), "mdb_env_create");
    lmdb_check(mdb_env_set_mapsize(lmdb, (size_t)1 << 36), "mdb_env_set_mapsize"); /* 64 GB of addresses */
    lmdb_check(mdb_env_open(lmdb, folder, MDB_NOSYNC, 0644), folder);
    lmdb_check(mdb_txn_begin(lmdb, NULL, 0, &transaction), "mdb_txn_begin");
    lmdb_check(mdb_dbi_open(transaction, NULL, 0, &lmdb_blobs), "mdb_dbi_open");
    lmdb_check(mdb_txn_commit(transaction), "mdb_txn_commit");
    lmdb_check(mdb_txn_begin(lmdb, NULL, MDB_RDONLY, &lmdb_reading), "mdb_txn_begin");
    mdb_txn_reset(lmdb_reading);
}

static MDB_val lmdb_key(size_t i) { return (MDB_val){key_length, keys[i]}; }

static void lmdb_begin(void) { lmdb_check(mdb_txn_begin(lmdb, NULL, 0, &lmdb_writing), "mdb_txn_begin"); }

static void lmdb_put(size_t i, record value)
{
    MDB_val key = lmdb_key(i), data = {value.length, (void *)value.bytes};
    lmdb_check(mdb_put(lmdb_writing, lmdb_blobs, &key, &data, 0), "mdb_put");
}

static size_t lmdb_get(size_t i, uint8_t *out, size_t capacity)
{
    MDB_val key = lmdb_key(i), data = {0, NULL};
    lmdb_check(mdb_txn_renew(lmdb_reading), "mdb_txn_renew"); /* each sees what was put before it */
    int error = mdb_get(lmdb_reading, lmdb_blobs, &key, &data);
    if (error != MDB_NOTFOUND) lmdb_check(error, "mdb_get");
    if (data.mv_size > capacity) fail("%s has %zu bytes", keys[i], data.mv_size);
    if (!error) memcpy(out, data.mv_data, data.mv_size);
    mdb_txn_reset(lmdb_reading);
    return error ? 0 : data.mv_size;
}

static void lmdb_remove(size_t i)
{
    MDB_val key = lmdb_key(i);
    lmdb_check(mdb_del(lmdb_writing, lmdb_blobs, &key, NULL), keys[i]);
}

static void lmdb_commit(void) { lmdb_check(mdb_txn_commit(lmdb_writing), "mdb_txn_commit"); }

static void lmdb_close(void)
{
    mdb_txn_abort(lmdb_reading);
    mdb_env_close(lmdb);
}

/* MARK: RocksDB */

static rocksdb_t *rocksdb;
static rocksdb_options_t *rocksdb_options;
static rocksdb_readoptions_t *rocksdb_reading;
static rocksdb_writeoptions_t *rocksdb_writing;
static rocksdb_writebatch_t *rocksdb_batch;

static void rocksdb_check(const char *error, const char *call)
{
    if (error) fail("%s: %s", call, error);
}

static void rocksdb_set_up(void)
{
    rocksdb_options = rocksdb_options_create();
    rocksdb_options_set_create_if_missing(rocksdb_options, 1);
    rocksdb_options_set_compression(rocksdb_options, rocksdb_no_compression);
    rocksdb_options_set_enable_blob_files(rocksdb_options, 1);
    rocksdb_options_set_min_blob_size(rocksdb_options, 1024);
    rocksdb_reading = rocksdb_readoptions_create();
    if (is_tuned) {
        rocksdb_options_set_allow_mmap_reads(rocksdb_options, 1); /* the faster way to read blob files */
        rocksdb_readoptions_set_verify_checksums(rocksdb_reading, 0); /* values have their own */
    }
    rocksdb_writing = rocksdb_writeoptions_create(); /* with the log, which is not synced */
    rocksdb_batch = rocksdb_writebatch_create();
}

static void rocksdb_start(const char *folder)
{
    char *error = NULL;
    rocksdb_set_up();
    rocksdb = rocksdb_open(rocksdb_options, folder, &error);
    rocksdb_check(error, folder);
}

static void rocksdb_begin(void) { rocksdb_writebatch_clear(rocksdb_batch); }

static void rocksdb_set(size_t i, record value)
{
    rocksdb_writebatch_put(rocksdb_batch, keys[i], key_length, (const char *)value.bytes, value.length);
}

static size_t rocksdb_find(size_t i, uint8_t *out, size_t capacity)
{
    char *error = NULL;
    size_t length = 0;
    rocksdb_pinnableslice_t *slice = rocksdb_get_pinned(rocksdb, rocksdb_reading, keys[i], key_length, &error);
    rocksdb_check(error, keys[i]);
    if (!slice) return 0;
    const char *value = rocksdb_pinnableslice_value(slice, &length);
    if (length > capacity) fail("%s has %zu bytes", keys[i], length);
    memcpy(out, value, length);
    rocksdb_pinnableslice_destroy(slice);
    return length;
}

static void rocksdb_remove(size_t i) { rocksdb_writebatch_delete(rocksdb_batch, keys[i], key_length); }

static void rocksdb_commit(void)
{
    char *error = NULL;
    rocksdb_write(rocksdb, rocksdb_writing, rocksdb_batch, &error);
    rocksdb_check(error, "write");
}

static void rocksdb_stop(void)
{
    rocksdb_close(rocksdb);
    rocksdb_writebatch_destroy(rocksdb_batch);
    rocksdb_writeoptions_destroy(rocksdb_writing);
    rocksdb_readoptions_destroy(rocksdb_reading);
    rocksdb_options_destroy(rocksdb_options);
}

static const peer peers[] = {
    {"file", file_open, nothing, file_put, file_get, file_remove, nothing, close_root},
    {"sqlite", sqlite_open, sqlite_begin, sqlite_put, sqlite_get, sqlite_remove, sqlite_commit, sqlite_close},
    {"lmdb", lmdb_open, lmdb_begin, lmdb_put, lmdb_get, lmdb_remove, lmdb_commit, lmdb_close},
    {"rocksdb", rocksdb_start, rocksdb_begin, rocksdb_set, rocksdb_find, rocksdb_remove, rocksdb_commit, rocksdb_stop},
};

const peer *peer_named(const char *name)
{
    for (size_t i = 0; i < sizeof peers / sizeof *peers; i++)
        if (!strcmp(peers[i].name, name)) return &peers[i];
    return NULL;
}
