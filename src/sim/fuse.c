/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Mounts and serves the simulated tree, and invalidates the real kernel's cache. */
#include "sim/fuse.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <string.h>

#include "base/mem.h"
#include "sys/sys.h"
#include "internal.h"

struct job {
	struct job *next;
	fuse_req_t req; /* NULL: an invalidation; if not, a write to answer with `result` */
	ssize_t result;
	fuse_ino_t ino; /* the directory whose entry `name` to invalidate; `name` NULL: the file to invalidate */
	char *name;
};

static void reply_write(fuse_req_t req, ssize_t result)
{
	if (result < 0)
		fuse_reply_err(req, (int)-result);
	else
		fuse_reply_write(req, (size_t)result);
}

/* Needs server->lock. */
static void job_put(struct server *server, const struct job *job)
{
	struct job *copy = mem_new(1, sizeof(*copy));

	*copy = *job;
	*server->last_job = copy;
	server->last_job = &copy->next;
	server->unfinished++;
	pthread_cond_signal(&server->more);
}

bool sim_fuse_forgets(struct server *server)
{
	bool forgets;

	pthread_mutex_lock(&server->lock);
	forgets = server->unfinished > 0;
	pthread_mutex_unlock(&server->lock);
	return forgets;
}

static void forget(struct server *server, fuse_ino_t ino, const char *name)
{
	pthread_mutex_lock(&server->lock);
	job_put(server, &(struct job){ .ino = ino, .name = name ? mem_strdup(name) : NULL });
	pthread_mutex_unlock(&server->lock);
}

void sim_fuse_reply_write(struct server *server, fuse_req_t req, ssize_t result)
{
	bool is_clean;

	pthread_mutex_lock(&server->lock);
	is_clean = server->unfinished == 0;
	if (!is_clean)
		job_put(server, &(struct job){ .req = req, .result = result });
	pthread_mutex_unlock(&server->lock);
	if (is_clean)
		reply_write(req, result);
}

static void job_do(const struct server *server, const struct job *job)
{
	struct fuse_session *session = server->files.session;

	if (job->req)
		reply_write(job->req, job->result);
	else if (job->name)
		fuse_lowlevel_notify_inval_entry(session, job->ino, job->name, strlen(job->name));
	else
		fuse_lowlevel_notify_inval_inode(session, job->ino, 0, 0);
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
		job_do(server, job);
		free(job->name);
		free(job);
		pthread_mutex_lock(&server->lock);
		server->unfinished--;
	}
	pthread_mutex_unlock(&server->lock);
	return NULL;
}

static void on_going(void *arg, const struct sim_node *directory, const struct sim_node *node)
{
	struct server *server = arg;

	if (node->refs == 0)
		return;
	forget(server, ino_of(&server->files, directory), node->name);
}

/*
 * To drop a file's cached text, the real kernel takes the lock of the file's pages. A hanging read or a write in
 * progress holds this lock. Such files need no invalidation: the read gets the new text, and a writable file is not
 * cached.
 */
static void on_stale(void *arg, struct sim_node *file)
{
	struct server *server = arg;

	if (!file->looked_at || file->refs == 0 || !sim_fuse_is_kept(file) || sim_fuse_is_read(server, file))
		return;
	file->looked_at = false;
	forget(server, ino_of(&server->files, file), NULL);
}

/* Runs without the forgetter thread, because the call takes no lock that waits for us. */
static void on_changing(void *arg, const struct sim_node *directory)
{
	struct server *server = arg;

	if (directory->refs > 0)
		fuse_lowlevel_notify_inval_inode(server->files.session, ino_of(&server->files, directory), -1, 0);
}

/* the last line that libfuse wanted to print, for an error message */
static char fuse_said[256];

static void on_fuse_log(enum fuse_log_level level, const char *fmt, va_list ap)
{
	(void)level;
	vsnprintf(fuse_said, sizeof(fuse_said), fmt, ap);
	fuse_said[strcspn(fuse_said, "\n")] = '\0';
}

static bool has_request(const struct mounted *mounted)
{
	struct pollfd fd = { .fd = fuse_session_fd(mounted->session), .events = POLLIN };

	return poll(&fd, 1, 0) > 0;
}

static void wait_for_request(const struct server *server)
{
	struct pollfd fds[] = { { .fd = fuse_session_fd(server->files.session), .events = POLLIN },
				{ .fd = fuse_session_fd(server->devices.session), .events = POLLIN } };
	int64_t at = sim_kernel_deadline(server->kernel), ms = at < 0 ? -1 : at - sys_now_ms();

	poll(fds, ARRAY_SIZE(fds), at >= 0 && ms < 0 ? 0 : (int)ms);
}

/* The descriptor is non-blocking: the request of a killed process can disappear between the poll and the read. */
static void receive(struct mounted *mounted, struct fuse_buf *buf)
{
	int r = has_request(mounted) ? fuse_session_receive_buf(mounted->session, buf) : 0;

	buf->size = r > 0 ? (size_t)r : 0;
}

/*
 * The files of sysfs and the devices are two file systems, so a read of a file could overtake an earlier close of a
 * device. So all requests at the devices are handled before a request at the files.
 */
static void loop(struct server *server, void (*ready)(void *), void *arg)
{
	struct mounted *files = &server->files, *devices = &server->devices;
	struct fuse_buf asked = { 0 }, closed = { 0 };

	while (!fuse_session_exited(files->session) && !fuse_session_exited(devices->session)) {
		wait_for_request(server);
		receive(files, &asked);
		sim_kernel_advance(server->kernel, sys_now_ms());
		for (receive(devices, &closed); closed.size > 0; receive(devices, &closed))
			fuse_session_process_buf(devices->session, &closed);
		if (asked.size > 0)
			fuse_session_process_buf(files->session, &asked);
		sim_fuse_answer_reads(server);
		if (ready && files->is_up && devices->is_up) {
			ready(arg);
			ready = NULL;
		}
	}
	free(asked.mem);
	free(closed.mem);
}

static int mount_at(struct mounted *mounted, const char *dir, const char *name, struct err *err)
{
	char options[128], where[PATH_MAX], self[] = SIM_FUSE_NAME, flag[] = "-o";
	char *argv[] = { self, flag, options, NULL };
	struct fuse_args args = FUSE_ARGS_INIT(3, argv);

	snprintf(where, sizeof(where), "%s/%s", dir, name);
	snprintf(options, sizeof(options), "allow_other,default_permissions,subtype=%s,fsname=%s%d", SIM_FUSE_NAME,
		 SIM_FUSE_SOURCE, (int)getpid());
	mounted->session = fuse_session_new(&args, &sim_fuse_ops, sizeof(sim_fuse_ops), mounted);
	fuse_opt_free_args(&args);
	if (!mounted->session || fuse_session_mount(mounted->session, where) != 0)
		return err_set(err, EIO, "%s cannot be mounted: %s", where, fuse_said);
	if (fcntl(fuse_session_fd(mounted->session), F_SETFL, O_RDWR | O_NONBLOCK) < 0)
		return err_sys(err, errno, "%s", where);
	return 0;
}

static void unmount(struct mounted *mounted)
{
	if (!mounted->session)
		return;
	fuse_session_unmount(mounted->session);
	fuse_session_destroy(mounted->session);
}

static int serve(struct server *server, void (*ready)(void *), void *arg, struct err *err)
{
	if (fuse_set_signal_handlers(server->files.session) != 0 ||
	    pthread_create(&server->forgetter, NULL, forget_all, server) != 0)
		return err_set(err, EAGAIN, "no thread or signal handler can be had");
	loop(server, ready, arg);
	fuse_remove_signal_handlers(server->files.session);
	pthread_mutex_lock(&server->lock);
	server->ends = true;
	pthread_cond_signal(&server->more);
	pthread_mutex_unlock(&server->lock);
	pthread_join(server->forgetter, NULL);
	return 0;
}

int sim_fuse_serve(struct sim_kernel *kernel, const char *dir, void (*ready)(void *arg), void *arg, struct err *err)
{
	struct server server = { .kernel = kernel,
				 .files = { .server = &server, .root = kernel->tree.root },
				 .devices = { .server = &server, .root = kernel->dev },
				 .born = time(NULL),
				 .lock = PTHREAD_MUTEX_INITIALIZER,
				 .more = PTHREAD_COND_INITIALIZER };
	int r;

	server.last_job = &server.jobs;
	fuse_set_log_func(on_fuse_log);
	r = mount_at(&server.files, dir, SIM_FUSE_FILES, err);
	if (r == 0)
		r = mount_at(&server.devices, dir, SIM_FUSE_DEVICES, err);
	kernel->tree.hook_arg = &server;
	kernel->tree.going = on_going;
	kernel->tree.changing = on_changing;
	kernel->tree.stale = on_stale;
	if (r == 0)
		r = serve(&server, ready, arg, err);
	kernel->tree.going = NULL;
	kernel->tree.changing = NULL;
	kernel->tree.stale = NULL;
	unmount(&server.devices);
	unmount(&server.files);
	return r;
}
