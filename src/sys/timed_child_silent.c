/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The devices whose drivers have not answered yet. */
#include <pthread.h>
#include <string.h>

#include "sys/sys.h"
#include "sys/timed_child.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct timed_child_silent silent[TIMED_CHILD_SILENT_MAX];
static size_t nsilent;

/* With the lock held. */
static void forget_answered(void)
{
	size_t n = 0;

	for (size_t i = 0; i < nsilent; i++)
		if (sys_process_lives(silent[i].pid, silent[i].start))
			silent[n++] = silent[i];
	nsilent = n;
}

size_t timed_child_silents(struct timed_child_silent *out, size_t max)
{
	size_t n;

	pthread_mutex_lock(&lock);
	forget_answered();
	n = nsilent < max ? nsilent : max;
	memcpy(out, silent, n * sizeof(*out));
	pthread_mutex_unlock(&lock);
	return n;
}

void timed_child_add_silent(const struct timed_child_silent *s)
{
	size_t i = 0;

	pthread_mutex_lock(&lock);
	forget_answered();
	while (i < nsilent && strcmp(silent[i].who, s->who) != 0)
		i++;
	if (i == nsilent && i < TIMED_CHILD_SILENT_MAX)
		silent[nsilent++] = *s;
	pthread_mutex_unlock(&lock);
}
