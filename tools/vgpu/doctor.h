/* SPDX-License-Identifier: MIT */
/*
 * vgpu doctor, between its files. It only reads: the one thing it starts is our own libcuda in a child
 * process (what a program would see) and the system's loader with --list (which runs nothing).
 */
#ifndef VGPU_DOCTOR_H
#define VGPU_DOCTOR_H

#include <limits.h>

#include "choose.h"
#include "ldso.h"
#include "vgpu.h"

enum level { GOOD, WARN, FAIL };
enum shape { NOT_OLLAMA, OLD_OLLAMA, NEW_OLLAMA };      /* new: llama-server as runner, 0.30 and later */

/* Lines that wait until others are known, for how bad they are depends on those. */
struct held {
	struct held *next;
	enum level level;
	char *name, *seen, *advice;
};
struct holding {
	struct held *first, **end;
	int failed;
};

struct doctor {
	struct json *json;              /* NULL: lines for people */
	unsigned count[3];
	char first[512];                /* the first failure, for the verdict */
	const char *doubt;              /* what keeps the verdict from being sure, or NULL */
	struct holding *held;           /* where reports go now, or NULL */
	char *const *env;               /* of the program, not always ours */
	int pid;                        /* -p, or 0 */
	enum shape shape;               /* of Ollama, if the program is one */
	int runner;                     /* the program is llama-server, not its daemon */
	unsigned before_backends;       /* failures that were counted before them */
	int proof;                      /* a runner of it computes on the device now */
	int bare;                       /* one with a model has nothing there */
	char lib[PATH_MAX];             /* folder of our libraries */
	char how[PATH_MAX];             /* "vgpu run -- CMD", as a fix can say it */
	const char *agent;              /* socket that answers, or NULL */
	struct agent_status st;
	unsigned cc;                    /* 61 for 6.1 */
	int driver_version;
};

/* One line, and for WARN and FAIL the fix below it. */
void report(struct doctor *d, enum level l, const char *check, const char *fix, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));
/* From here on reports wait in h ... */
void hold(struct doctor *d, struct holding *h);
/* ... until they are printed, none as more than `worst`. */
void let_go(struct doctor *d, struct holding *h, enum level worst);
void say_how(struct doctor *d, char *const *cmd);
/* A formatted text; it lives until the end. */
const char *text(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
const char *base(const char *path);

/* doctor_system.c */
void check_system(struct doctor *d);
void check_environment(struct doctor *d, int daemon);

/* doctor_program.c */
void check_program(struct doctor *d, char **cmd);
void check_binary(struct doctor *d, const char *path, char **args);

/* doctor_libs.c */
int is_cuda(const char *name);          /* a library that we have a version of */
int is_other(const char *name);         /* one of the CUDA toolkit that we have not */
int has_marker(const struct elf *e);    /* our own code, shared or linked in */
int is_ours(struct doctor *d, const char *path);
char *preload_line(struct doctor *d);   /* our libraries, as LD_PRELOAD wants them; to free */
/* A copy of env as vgpu run would set it. */
char **run_env(struct doctor *d, char *const *env);
void run_env_free(char **env);
void add_dlopened(struct closure *c);
int is_wanted(const struct closure *c, const struct object *o);
/* c: as things are; run: under vgpu run; inside: the backend that is meant, or NULL. */
void check_library(struct doctor *d, const struct closure *c, const struct closure *run, const struct object *o,
		   const char *name, const char *inside);
void check_driver(struct doctor *d, const char *runtime);
void check_libraries_of(struct doctor *d, struct closure *c, struct closure *run, unsigned from, const char *inside);
void check_run(struct doctor *d, const struct closure *c, const struct closure *run);

/* doctor_backend.c */
/* All of them, judged together: a program that finds one that works uses it. */
void check_backends(struct doctor *d, const char *program, char **backends, unsigned *usable);

/* doctor_symbols.c */
void check_symbols(struct doctor *d, const struct closure *c, unsigned i);
/* Names out of a NULL-terminated list that our library lacks, " a b"; "" when it has all, NULL when it is not there. */
const char *lacks(struct doctor *d, const char *lib, const char *const *names);

/* doctor_carried.c: the major version of the cudart inside, 10 for older ones, 0 where it cannot be told, -1 for none */
int carried_major(const struct elf *e);
void check_carried(struct doctor *d, const struct object *o);

/* doctor_code.c */
int has_ggml(const struct elf *e);      /* by a name that ggml's CUDA backend holds, whatever the file is called */
void check_code(struct doctor *d, const struct object *o);
/* "500,610,...": what a ggml backend was built for; 0 where it does not say */
int ggml_archs(const struct elf *e, char *out, size_t bytes);
/* ggml backends beside a program or named in its arguments; a NULL-terminated array to free. */
char **find_backends(const char *program, char **args);
void free_strings(char **list);

/* doctor_process.c */
#define MAX_ENVIRON (4u << 20)
int check_process(struct doctor *d);
/* A file of /proc, with two NULs behind it; NULL with errno set. */
char *slurp(const char *path, size_t *bytes);
/* Its strings, NULL-terminated; to free. */
char **split(char *p, size_t n);
int parent_of(int pid);
/* When it started, in clock ticks since the boot; 0: not known. */
unsigned long long started(int pid);

/* doctor_ollama.c */
enum shape ollama_shape(const char *program);
/* Where it takes its parts from, in out[PATH_MAX]; 0: there is no such folder, then beside the program. */
int ollama_lib(struct doctor *d, const char *program, char *out);
/* Would an Ollama of the new shape look into this backend's folder? */
int ollama_skips(struct doctor *d, const char *backend);
/* usable: how many of the backends that were looked at work */
void check_ollama(struct doctor *d, const char *path, unsigned usable);
void check_relatives(struct doctor *d);

/* doctor_server.c */
/* GET url/path: the body in a buffer to free, *status the server's; NULL with why. */
char *http_get(const char *host, const char *port, const char *path, int *status, char *why, size_t bytes);
int check_server(struct doctor *d, const char *url);    /* -1: not a URL */

#endif
