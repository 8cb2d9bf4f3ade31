// SPDX-License-Identifier: MIT
#include "code.h"
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define PAGE 4096ull

int pt_code_open(void)
{
	return open("/proc/self/mem", O_RDWR | O_CLOEXEC);
}

void pt_code_close(int fd)
{
	if (fd >= 0)
		close(fd);
}

struct segment {
	uintptr_t address;
	int protection; /* 0: not found */
	unsigned long long loaded; /* number of objects that were loaded since the program began */
};

static unsigned long long loaded_at_start;

/* A page that is writable for a moment. A fork at that moment copies it as it is. */
static struct {
	void *page; /* NULL: none */
	int protection;
} open_page;

static int segment_find(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct segment *const segment = arg;

	segment->loaded = info->dlpi_adds;
	for (unsigned int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *const ph = &info->dlpi_phdr[i];

		if (ph->p_type != PT_LOAD || !(ph->p_flags & PF_X) ||
		    segment->address - info->dlpi_addr - ph->p_vaddr >= ph->p_memsz)
			continue;
		segment->protection = PROT_EXEC | (ph->p_flags & PF_R ? PROT_READ : 0) |
				      (ph->p_flags & PF_W ? PROT_WRITE : 0);
		return 1;
	}
	return 0;
}

void pt_code_begin(void)
{
	struct segment segment = {0};

	dl_iterate_phdr(segment_find, &segment);
	loaded_at_start = segment.loaded;
}

/* mremap() with an old size of 0 duplicates shared memory and refuses private memory as invalid. */
static int private_check(void *page)
{
	void *const twin = mremap(page, 0, PAGE, MREMAP_MAYMOVE);

	if (twin == MAP_FAILED)
		return errno == EINVAL ? 0 : -errno;
	munmap(twin, PAGE);
	return -ETXTBSY;
}

/*
 * Writes directly if the program itself has made this memory writable; its protection stays as it
 * is.
 */
static bool write_as_it_is(unsigned char *code, unsigned char byte)
{
	const struct iovec from = {&byte, 1}, to = {code, 1};

	return syscall(SYS_process_vm_writev, getpid(), &from, 1ul, &to, 1ul, 0ul) == 1;
}

__attribute__((no_sanitize("address", "thread"))) static int write_in_place(unsigned char *code,
									    unsigned char byte)
{
	void *const page = (void *)((uintptr_t)code & ~(PAGE - 1));
	struct segment segment = {.address = (uintptr_t)code};
	int rc;

	if (!dl_iterate_phdr(segment_find, &segment))
		return -EFAULT;
	/* a thread that loads a library may be confined to the system calls which that takes */
	if (segment.loaded != loaded_at_start && pt_control_helps() && !pt_control_is_helper())
		return -EAGAIN;
	rc = private_check(page);
	if (rc)
		return rc;
	if (write_as_it_is(code, byte))
		return 0;
	open_page.protection = segment.protection;
	__atomic_store_n(&open_page.page, page, __ATOMIC_RELEASE);
	rc = mprotect(page, PAGE, segment.protection | PROT_WRITE) ? -errno : 0;
	if (!rc) {
		__atomic_store_n(code, byte, __ATOMIC_RELEASE);
		mprotect(page, PAGE, segment.protection);
	}
	__atomic_store_n(&open_page.page, NULL, __ATOMIC_RELEASE);
	return rc;
}

int pt_code_write(int fd, unsigned char *code, unsigned char byte)
{
	if (fd >= 0 && pwrite(fd, &byte, 1, (off_t)(uintptr_t)code) == 1)
		return 0;
	return write_in_place(code, byte);
}

void pt_code_mend(void)
{
	if (open_page.page)
		mprotect(open_page.page, PAGE, open_page.protection);
	open_page.page = NULL;
}
