/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Mounts the simulated tree and serves it: the loop, and what the real kernel is told to forget. */
#include "sim_fuse.h"

#include <errno.h>
#include <poll.h>
#include <string.h>

#include "auto.h"
#include "host.h"
#include "sim_fuse_impl.h"

struct job {
	struct job *next;
	fuse_req_t req; /* NULL: forget `name` in `folder` */
	ssize_t result;
	fuse_ino_t folder;
	char *name;
};

static void reply_write(fuse_req_t req, ssize_t result)
{
	if (result < 0)
		fuse_reply_err(req, (int)-result);
	else
		fuse_reply_write(req, (size_t)result);
}

static void job_put(struct server *server, const struct job *job)
{
	struct job *copy = sim_alloc(sizeof(*copy));

	*copy = *job;
	pthread_mutex_lock(&server->lock);
	*server->last_job = copy;
	server->last_job = &copy->next;
	pthread_cond_signal(&server->more);
	pthread_mutex_unlock(&server->lock);
}

static void *forget_all(void *arg)
{
	struct server *server = arg;

	pthread_mutex_lock(&server->lock);
	while (!server->ends) {
		struct job *job = server->jobs;

		if (!job) {
			pthread_cond_wait(&server->more, &server->lock);
			continue;
		}
		server->jobs = job->next;
		if (!server->jobs)
			server->last_job = &server->jobs;
		pthread_mutex_unlock(&server->lock);
		if (job->req)
			reply_write(job->req, job->result);
		else
			fuse_lowlevel_notify_inval_entry(server->session, job->folder, job->name, strlen(job->name));
		free(job->name);
		free(job);
		pthread_mutex_lock(&server->lock);
	}
	pthread_mutex_unlock(&server->lock);
	return NULL;
}

static void on_going(void *arg, const struct sim_node *folder, const struct sim_node *node)
{
	struct server *server = arg;

	if (node->refs == 0)
		return;
	job_put(server, &(struct job){ .folder = ino_of(server, folder), .name = sim_strdup(node->name) });
	server->holds_answers = true;
}

/* This takes no lock that somebody could hold who waits for us: it can be done at once. */
static void on_changing(void *arg, const struct sim_node *folder)
{
	struct server *server = arg;

	if (folder->refs > 0)
		fuse_lowlevel_notify_inval_inode(server->session, ino_of(server, folder), -1, 0);
}

void sim_fuse_reply_write(struct server *server, fuse_req_t req, ssize_t result)
{
	if (server->holds_answers)
		job_put(server, &(struct job){ .req = req, .result = result });
	else
		reply_write(req, result);
	server->holds_answers = false;
}

/* What libfuse would print: its last line becomes part of the message. */
static char fuse_said[256];

static void on_fuse_log(enum fuse_log_level level, const char *fmt, va_list ap)
{
	(void)level;
	vsnprintf(fuse_said, sizeof(fuse_said), fmt, ap);
	fuse_said[strcspn(fuse_said, "\n")] = '\0';
}

/* Waits until there is a request or something is due: positive, or -EAGAIN. */
static int wait_for_request(const struct server *server)
{
	struct pollfd fd = { .fd = fuse_session_fd(server->session), .events = POLLIN };
	int64_t ms = sim_kernel_deadline(server->kernel) - host_now_ms();

	return poll(&fd, 1, ms > 0 ? (int)ms : 0) > 0 ? 1 : -EAGAIN;
}

static void loop(struct server *server, void (*ready)(void *), void *arg)
{
	struct fuse_session *session = server->session;
	struct fuse_buf buf = { 0 };

	while (!fuse_session_exited(session)) {
		int r = 1;

		if (sim_kernel_deadline(server->kernel) >= 0)
			r = wait_for_request(server);
		if (r > 0)
			r = fuse_session_receive_buf(session, &buf);
		sim_kernel_advance(server->kernel, host_now_ms());
		if (r == -EINTR || r == -EAGAIN)
			continue;
		if (r <= 0)
			break;
		fuse_session_process_buf(session, &buf);
		if (server->is_up && ready) {
			ready(arg);
			ready = NULL;
		}
	}
	free(buf.mem);
}

static int mount_and_serve(struct server *server, const char *where, void (*ready)(void *), void *arg, struct err *err)
{
	if (fuse_session_mount(server->session, where) != 0)
		return err_set(err, EIO, "%s cannot be mounted: %s", where, fuse_said);
	if (fuse_set_signal_handlers(server->session) != 0 ||
	    pthread_create(&server->forgetter, NULL, forget_all, server) != 0) {
		fuse_session_unmount(server->session);
		return err_set(err, EAGAIN, "%s: no thread or signal handler can be had", where);
	}
	loop(server, ready, arg);
	fuse_remove_signal_handlers(server->session);
	fuse_session_unmount(server->session);
	pthread_mutex_lock(&server->lock);
	server->ends = true;
	pthread_cond_signal(&server->more);
	pthread_mutex_unlock(&server->lock);
	pthread_join(server->forgetter, NULL);
	return 0;
}

int sim_fuse_serve(struct sim_kernel *kernel, const char *where, void (*ready)(void *arg), void *arg, struct err *err)
{
	struct server server = { .kernel = kernel,
				 .born = time(NULL),
				 .lock = PTHREAD_MUTEX_INITIALIZER,
				 .more = PTHREAD_COND_INITIALIZER };
	char options[128];
	char name[] = SIM_FUSE_NAME, flag[] = "-o";
	char *argv[] = { name, flag, options, NULL };
	struct fuse_args args = FUSE_ARGS_INIT(3, argv);
	int r;

	snprintf(options, sizeof(options), "allow_other,default_permissions,subtype=%s,fsname=%s%d", SIM_FUSE_NAME,
		 SIM_FUSE_SOURCE, (int)getpid());
	server.last_job = &server.jobs;
	fuse_set_log_func(on_fuse_log);
	server.session = fuse_session_new(&args, &sim_fuse_ops, sizeof(sim_fuse_ops), &server);
	fuse_opt_free_args(&args);
	if (!server.session)
		return err_set(err, EIO, "%s cannot be served: %s", where, fuse_said);
	kernel->tree.going = on_going;
	kernel->tree.changing = on_changing;
	kernel->tree.hook_arg = &server;
	r = mount_and_serve(&server, where, ready, arg, err);
	kernel->tree.going = NULL;
	kernel->tree.changing = NULL;
	fuse_session_destroy(server.session);
	return r;
}
