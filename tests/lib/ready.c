// SPDX-License-Identifier: MIT
/* What the ready-made instrumentation sees: a known number of everything. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int begun; /* contend() has */

static void *contend(void *arg)
{
	(void)arg;
	__atomic_store_n(&begun, 1, __ATOMIC_RELEASE);
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
	return NULL;
}

__attribute__((noinline)) static int function(int x)
{
	__asm__ volatile("" : "+r"(x));
	return x + 1;
}

int main(void)
{
	char *volatile p;
	void *handle;
	pthread_t thread;
	pid_t child;

	for (int i = 0; i < 100; i++) {
		p = malloc(7777);
		p = realloc(p, 8888);
		free(p);
	}
	pthread_mutex_lock(&mutex);
	pthread_create(&thread, NULL, contend, NULL);
	while (!__atomic_load_n(&begun, __ATOMIC_ACQUIRE))
		usleep(1000);
	usleep(200000);
	pthread_mutex_unlock(&mutex);
	pthread_join(thread, NULL);
	handle = dlopen("libm.so.6", RTLD_NOW);
	if (handle)
		dlclose(handle);
	for (int i = 0; i < 3; i++)
		function(i);
	child = fork();
	if (!child) {
		char *const arguments[] = {(char *)"true", NULL};

		execv("/bin/true", arguments);
		_exit(1);
	}
	waitpid(child, NULL, 0);
	return 0;
}
