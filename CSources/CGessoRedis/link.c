#define _GNU_SOURCE
#include "include/gesso_redis.h"

/* Only where the package is built with Redis: others need no OpenSSL. */
#ifdef GESSO_REDIS

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

struct gesso_link {
    int file;
    int is_connected; /* as a socket; TLS comes after */
    SSL_CTX *context;
    SSL *tls;
    struct addrinfo *addresses, *next; /* those that are not tried yet */
    char error[256];
};

static int fail(gesso_link *link, const char *what, const char *why)
{
    snprintf(link->error, sizeof link->error, "%s: %s", what, why);
    return GESSO_LINK_FAILED;
}

static int fail_by_number(gesso_link *link, const char *what, int number)
{
    return fail(link, what, strerror(number));
}

static int fail_by_tls(gesso_link *link, const char *what)
{
    char why[160] = "the server has ended it";
    long verified = link->tls ? SSL_get_verify_result(link->tls) : X509_V_OK;
    unsigned long code = ERR_get_error();
    if (verified != X509_V_OK) return fail(link, what, X509_verify_cert_error_string(verified));
    if (code) ERR_error_string_n(code, why, sizeof why);
    ERR_clear_error();
    return fail(link, what, why);
}

static int begin(gesso_link *link, int family, const struct sockaddr *address, socklen_t length)
{
    if (link->file >= 0) close(link->file);
    link->file = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (link->file < 0) return fail_by_number(link, "no socket", errno);
    int yes = 1;
    if (family != AF_UNIX) setsockopt(link->file, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    if (connect(link->file, address, length) == 0 || errno == EINPROGRESS || errno == EINTR) return GESSO_LINK_DONE;
    fail_by_number(link, "cannot connect", errno);
    /* A socket that was never connected would look as if it could be written to. */
    close(link->file);
    link->file = -1;
    return GESSO_LINK_FAILED;
}

/* The next of a host's addresses. */
static int begin_next(gesso_link *link)
{
    while (link->next) {
        struct addrinfo *address = link->next;
        link->next = address->ai_next;
        if (begin(link, address->ai_family, address->ai_addr, address->ai_addrlen) == GESSO_LINK_DONE)
            return GESSO_LINK_DONE;
    }
    return GESSO_LINK_FAILED;
}

static int prepare_tls(gesso_link *link, const gesso_link_options *options)
{
    link->context = SSL_CTX_new(TLS_client_method());
    if (!link->context) return fail_by_tls(link, "no TLS");
    SSL_CTX_set_min_proto_version(link->context, TLS1_2_VERSION);
    SSL_CTX_set_verify(link->context, SSL_VERIFY_PEER, NULL);
    SSL_CTX_set_options(link->context, SSL_OP_NO_RENEGOTIATION);
    SSL_CTX_set_mode(link->context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    int fine = options->authorities ? SSL_CTX_load_verify_locations(link->context, options->authorities, NULL)
                                    : SSL_CTX_set_default_verify_paths(link->context);
    if (!fine) return fail_by_tls(link, options->authorities ? options->authorities : "the system's certificates");
    if (options->certificate && SSL_CTX_use_certificate_chain_file(link->context, options->certificate) != 1)
        return fail_by_tls(link, options->certificate);
    if (options->key && SSL_CTX_use_PrivateKey_file(link->context, options->key, SSL_FILETYPE_PEM) != 1)
        return fail_by_tls(link, options->key);
    link->tls = SSL_new(link->context);
    if (!link->tls) return fail_by_tls(link, "no TLS");
    /* A name, or an address as digits. */
    struct in6_addr digits;
    int is_address = inet_pton(AF_INET, options->host, &digits) == 1 || inet_pton(AF_INET6, options->host, &digits) == 1;
    X509_VERIFY_PARAM *rules = SSL_get0_param(link->tls);
    if (is_address ? X509_VERIFY_PARAM_set1_ip_asc(rules, options->host) != 1
                   : SSL_set1_host(link->tls, options->host) != 1 || !SSL_set_tlsext_host_name(link->tls, options->host))
        return fail_by_tls(link, options->host);
    return GESSO_LINK_DONE;
}

gesso_link *gesso_link_open(const gesso_link_options *options)
{
    gesso_link *link = calloc(1, sizeof *link);
    if (!link) return NULL;
    link->file = -1;
    if (options->path) {
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        if (strlen(options->path) >= sizeof address.sun_path) {
            fail(link, options->path, "too long for a socket");
            return link;
        }
        strcpy(address.sun_path, options->path);
        if (begin(link, AF_UNIX, (struct sockaddr *)&address, sizeof address) != GESSO_LINK_DONE) {
            char why[sizeof link->error];
            memcpy(why, link->error, sizeof why);
            fail(link, options->path, why);
        }
        return link;
    }
    if (options->is_secure && prepare_tls(link, options) != GESSO_LINK_DONE) return link;
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    int result = getaddrinfo(options->host, options->port, &hints, &link->addresses);
    if (result) {
        fail(link, options->host, gai_strerror(result));
        return link;
    }
    link->next = link->addresses;
    begin_next(link);
    return link;
}

void gesso_link_close(gesso_link *link)
{
    if (!link) return;
    SSL_free(link->tls);
    SSL_CTX_free(link->context);
    if (link->addresses) freeaddrinfo(link->addresses);
    if (link->file >= 0) close(link->file);
    free(link);
}

int gesso_link_descriptor(const gesso_link *link) { return link->file; }

const char *gesso_link_error(const gesso_link *link) { return link->error[0] ? link->error : "not connected"; }

/* What a call of TLS that did not end waits for. */
static int wanted(gesso_link *link, int result, const char *what)
{
    switch (SSL_get_error(link->tls, result)) {
    case SSL_ERROR_WANT_READ: return GESSO_LINK_WANTS_READ;
    case SSL_ERROR_WANT_WRITE: return GESSO_LINK_WANTS_WRITE;
    default: return fail_by_tls(link, what);
    }
}

static int connect_socket(gesso_link *link)
{
    if (link->file < 0) return GESSO_LINK_FAILED;
    struct pollfd wait = {.fd = link->file, .events = POLLOUT};
    if (poll(&wait, 1, 0) <= 0) return GESSO_LINK_WANTS_WRITE;
    int number = 0;
    socklen_t length = sizeof number;
    if (getsockopt(link->file, SOL_SOCKET, SO_ERROR, &number, &length) != 0) number = errno;
    if (number == 0) {
        link->is_connected = 1;
        return link->tls && SSL_set_fd(link->tls, link->file) != 1 ? fail_by_tls(link, "no TLS") : GESSO_LINK_DONE;
    }
    if (begin_next(link) == GESSO_LINK_DONE) return GESSO_LINK_WANTS_WRITE;
    return fail_by_number(link, "cannot connect", number);
}

int gesso_link_connect(gesso_link *link)
{
    if (!link->is_connected) {
        int result = connect_socket(link);
        if (result != GESSO_LINK_DONE) return result;
    }
    if (!link->tls) return GESSO_LINK_DONE;
    ERR_clear_error();
    int result = SSL_connect(link->tls);
    return result == 1 ? GESSO_LINK_DONE : wanted(link, result, "TLS");
}

int64_t gesso_link_read(gesso_link *link, void *bytes, size_t length)
{
    if (link->tls) {
        ERR_clear_error();
        int count = SSL_read(link->tls, bytes, length > 1 << 30 ? 1 << 30 : (int)length);
        return count > 0 ? count : wanted(link, count, "cannot read");
    }
    for (;;) {
        ssize_t count = recv(link->file, bytes, length, 0);
        if (count > 0) return count;
        if (count == 0) return fail(link, "cannot read", "the server has ended the connection");
        if (errno == EAGAIN || errno == EWOULDBLOCK) return GESSO_LINK_WANTS_READ;
        if (errno != EINTR) return fail_by_number(link, "cannot read", errno);
    }
}

int64_t gesso_link_write(gesso_link *link, const void *bytes, size_t length)
{
    if (link->tls) {
        ERR_clear_error();
        int count = SSL_write(link->tls, bytes, length > 1 << 30 ? 1 << 30 : (int)length);
        return count > 0 ? count : wanted(link, count, "cannot write");
    }
    for (;;) {
        ssize_t count = send(link->file, bytes, length, MSG_NOSIGNAL);
        if (count >= 0) return count;
        if (errno == EAGAIN || errno == EWOULDBLOCK) return GESSO_LINK_WANTS_WRITE;
        if (errno != EINTR) return fail_by_number(link, "cannot write", errno);
    }
}

#endif
