/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the events of instrumented processes go while they are recorded: CTF 1.8 traces in a
 * directory, one a process, perhaps in chunks that follow each other without a gap, or the same
 * through a relay on another machine.
 *
 *	DIRECTORY/NAME-PID/{metadata,objects,ring_0,ring_1,...}		without rotation
 *	DIRECTORY/chunk-000001/NAME-PID/...				with rotation; each chunk is
 *									a complete trace
 *
 * A recorder adds a source for each process, drains every source a few times a second, calls
 * ctf_output_tick() about as often, and drains all a last time before it removes a source or ends.
 * Room in a process's ring is given back once the packet is in the file, or once the relay says so:
 * what could not be written stays in the ring.
 */
#ifndef PANTRACE_TRACE_CTF_OUTPUT_H
#define PANTRACE_TRACE_CTF_OUTPUT_H

#include <pantrace/reader.h>

#include "base/diag.h"
#include "base/recording_file.h"

enum ctf_compression { CTF_PLAIN, CTF_ZSTD, CTF_GZIP };

struct ctf_output_options {
	/*
	 * made if need be; with `to`: the name of the trace at the relay, NULL = this host's name
	 */
	const char *directory;
	/* ssh://[USER@]HOST[:PORT]/DIRECTORY, unix:SOCKET, tcp:ADDRESS:PORT; NULL = `directory` */
	const char *to;
	struct recording_carrier *carrier; /* instead of both; NULL = none */
	u64 rotate_bytes, rotate_ns; /* begin a new chunk after; 0 = never */
	u32 keep_chunks; /* older ones are removed; 0 = all stay */
	enum ctf_compression compression; /* of finished chunks, and of everything at the end */
};

struct ctf_output_totals {
	u64 packets, bytes, events;
	u64 lost; /* by the processes, as far as it is known */
};

struct ctf_output;
struct ctf_source;

/*
 * A directory for traces, made if need be: not one that another user has put where everybody can. A
 * descriptor or -errno with the reason in d.
 */
int ctf_directory_open(const char *path, struct diag *d);
/*
 * Two recordings in one directory would be read as one: 0, or -EEXIST with the reason in d if there
 * is anything in it.
 */
int ctf_directory_check(const char *path, struct diag *d);
/* "zstd", "gzip", "none". 0 or -EINVAL. */
int ctf_compression_parse(const char *name, enum ctf_compression *ret);
/* 0 or -errno with the reason in d. */
int ctf_output_open(const struct ctf_output_options *options, struct diag *d,
		    struct ctf_output **ret);
/*
 * A process. The reader is opened with consume, or without when the process is dead; it stays the
 * caller's, must outlive the source, and is used by nobody else. 0 or -errno.
 */
int ctf_output_add(struct ctf_output *o, struct pantrace_reader *reader, struct ctf_source **ret);
enum ctf_drain {
	CTF_WHOLE, /* sub-buffers */
	CTF_SO_FAR, /* and what stands in unfinished ones */
	CTF_ALL, /* and what was lost since: nothing will follow in these files */
};

/*
 * Writes what the process's rings hold. 0, or -errno (-ENOSPC: the disk or the relay's allowance is
 * full; -EAGAIN: the relay is away or busy): nothing was lost by it, the next call tries again.
 * -EBADMSG: a ring is damaged; what stood before the damage is written.
 */
int ctf_output_drain(struct ctf_output *o, struct ctf_source *s, enum ctf_drain what);
/*
 * Events that the rings of all sources still hold: what is lost if nothing more is written. After
 * the last drain.
 */
u64 ctf_output_unwritten(struct ctf_output *o);
/* After the last drain. */
void ctf_output_remove(struct ctf_output *o, struct ctf_source *s);
/*
 * Rotation by time, answers of the relay, reconnection. 0 or -errno: the relay refused for good
 * (said in diag).
 */
int ctf_output_tick(struct ctf_output *o, struct diag *d);
/*
 * Begins a new chunk now: drains all of every source before. -EINVAL without rotation in the
 * options.
 */
int ctf_output_rotate(struct ctf_output *o);
/* The directory that is being written, for messages ("to" for a relay). */
const char *ctf_output_name(const struct ctf_output *o);
struct ctf_output_totals ctf_output_totals(struct ctf_output *o);
/*
 * Waits until the relay has everything, at most timeout_ms (a local directory: until it is written
 * and compressed). Sources that are left are removed. 0 or -errno: what the last drain said;
 * -ETIMEDOUT: the relay did not confirm everything.
 */
int ctf_output_close(struct ctf_output *o, u32 timeout_ms);

#endif
