/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Answers the requests to the file system. */
#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/mem.h"
#include "sim/fuse.h"
#include "sim/vfio.h"
#include "base/text.h"
#include "sys/sys.h"

enum { MAX_BACKGROUND = 512 };

struct waiting {
	struct sim_write write;
	struct server *server;
	fuse_req_t req;
	struct sim_node *node; /* valid until the answer, because the real kernel refers to the node */
	unsigned alias;
};

static struct mounted *mounted_of(fuse_req_t req)
{
	return fuse_req_userdata(req);
}

static struct sim_kernel *kernel_of(fuse_req_t req)
{
	return mounted_of(req)->server->kernel;
}

static struct sim_node *node_of(fuse_req_t req, fuse_ino_t ino)
{
	return ino == FUSE_ROOT_ID ? mounted_of(req)->root : (struct sim_node *)(uintptr_t)(ino & ~SIM_FUSE_ALIASES);
}

static void op_init(void *arg, struct fuse_conn_info *conn)
{
	struct mounted *mounted = arg;

	conn->want |= conn->capable & (FUSE_CAP_CACHE_SYMLINKS | FUSE_CAP_ATOMIC_O_TRUNC | FUSE_CAP_READDIRPLUS |
				       FUSE_CAP_NO_OPEN_SUPPORT | FUSE_CAP_NO_OPENDIR_SUPPORT |
				       FUSE_CAP_AUTO_INVAL_DATA | FUSE_CAP_PARALLEL_DIROPS);
	conn->want &= ~(unsigned)(FUSE_CAP_READDIRPLUS_AUTO | FUSE_CAP_SPLICE_READ | FUSE_CAP_SPLICE_WRITE |
				  FUSE_CAP_SPLICE_MOVE);
	conn->max_background = MAX_BACKGROUND;
	mounted->opens_files = !(conn->capable & FUSE_CAP_NO_OPEN_SUPPORT);
	mounted->opens_directories = !(conn->capable & FUSE_CAP_NO_OPENDIR_SUPPORT);
	mounted->is_up = true;
}

static void op_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	const struct sim_node *dir = node_of(req, parent);
	struct sim_node *node = dir->gone ? NULL : sim_tree_find(&kernel_of(req)->tree, dir, name);
	struct fuse_entry_param e;

	if (!node) {
		fuse_reply_err(req, ENOENT);
		return;
	}
	sim_fuse_entry_fill(mounted_of(req), node, &e);
	sim_tree_refer(node);
	fuse_reply_entry(req, &e);
}

static void op_forget(fuse_req_t req, fuse_ino_t ino, uint64_t count)
{
	sim_tree_unrefer(&kernel_of(req)->tree, node_of(req, ino), count);
	fuse_reply_none(req);
}

static void op_forget_multi(fuse_req_t req, size_t count, struct fuse_forget_data *all)
{
	for (size_t i = 0; i < count; i++)
		sim_tree_unrefer(&kernel_of(req)->tree, node_of(req, all[i].ino), all[i].nlookup);
	fuse_reply_none(req);
}

static void op_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct fuse_entry_param e;

	(void)fi;
	sim_fuse_stat(mounted_of(req), ino, node_of(req, ino), &e);
	fuse_reply_attr(req, &e.attr, e.attr_timeout);
}

/* The shell's > first truncates the file. The real sysfs accepts this and does nothing. */
static void op_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *st, int what, struct fuse_file_info *fi)
{
	(void)st;
	if (what & (FUSE_SET_ATTR_MODE | FUSE_SET_ATTR_UID | FUSE_SET_ATTR_GID))
		fuse_reply_err(req, EPERM);
	else
		op_getattr(req, ino, fi);
}

static void op_readlink(fuse_req_t req, fuse_ino_t ino)
{
	const struct sim_node *node = node_of(req, ino);

	fuse_reply_readlink(req, node->target ? node->target : SIM_FUSE_DEV_LINK);
}

/* Finds the process whose thread opens a file. `pid` 0: a process that is not visible here. */
static pid_t process_of(pid_t pid, char comm[16])
{
	char path[32], text[2048];
	const char *tgid;
	long n;

	text_copy(comm, 16, "unknown");
	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	if (pid <= 0 || sys_read(AT_FDCWD, path, text, sizeof(text)) < 0)
		return pid;
	tgid = strstr(text, "\nTgid:");
	if (tgid && (n = strtol(tgid + strlen("\nTgid:"), NULL, 10)) > 0)
		pid = (pid_t)n;
	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	if (sys_read(AT_FDCWD, path, text, sizeof(text)) > 0)
		snprintf(comm, 16, "%.15s", text);
	return pid;
}

static void device_open(fuse_req_t req, struct sim_node *node, struct fuse_file_info *fi)
{
	struct sim_handle *handle;
	char comm[16];
	pid_t pid = process_of(fuse_req_ctx(req)->pid, comm);
	int r = sim_vfio_open(kernel_of(req), node, pid, comm, sys_process_start(pid), &handle);

	if (r < 0) {
		fuse_reply_err(req, -r);
		return;
	}
	fi->fh = (uint64_t)(uintptr_t)handle;
	fi->direct_io = fi->noflush = 1;
	fuse_reply_open(req, fi);
}

static void op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct sim_node *node = node_of(req, ino);

	if (node->kind == SIM_DEVICE) {
		device_open(req, node, fi);
	} else if (mounted_of(req)->opens_files) {
		fi->keep_cache = sim_fuse_is_kept(node);
		fi->noflush = 1;
		fuse_reply_open(req, fi);
	} else {
		/* ENOSYS makes the real kernel open files without us, which halves the cost of a read. */
		fuse_reply_err(req, ENOSYS);
	}
}

static void op_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	(void)ino;
	if (fi->fh)
		sim_vfio_close((struct sim_handle *)(uintptr_t)fi->fh);
	fuse_reply_err(req, 0);
}

/* The errno for a read or write of a node. If the mode forbids an access to all, even root is refused. */
static int access_check(const struct sim_node *node, bool allowed)
{
	if (node->kind != SIM_FILE)
		return EINVAL;
	if (node->gone)
		return ENODEV;
	return allowed ? 0 : EACCES;
}

/* A read that hangs. The node is valid until the answer, because the real kernel refers to it. */
struct hanging {
	struct hanging *next;
	fuse_req_t req;
	struct sim_node *node;
	unsigned alias;
	size_t size;
	off_t at;
};

static void answer_read(const struct hanging *ask)
{
	struct sim_node *node = ask->node;
	const char *told = sim_fuse_told(node, ask->alias), *from;
	int error = access_check(node, node->kind == SIM_FILE && node->attr->show);
	autofree char *text = NULL;
	size_t len = 0;

	if (!error)
		text = sim_fuse_render(node, &len, &error);
	if (error) {
		fuse_reply_err(ask->req, error < 0 ? -error : error);
		return;
	}
	node->looked_at = true;
	/* If the reported length is out of date, answer with the old text, because the new text would be cut. */
	from = told && strlen(told) != len ? told : text;
	len = strlen(from);
	len = (size_t)ask->at < len ? len - (size_t)ask->at : 0;
	fuse_reply_buf(ask->req, from + (len ? ask->at : 0), len < ask->size ? len : ask->size);
}

static void op_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t at, struct fuse_file_info *fi)
{
	const struct hanging ask = { .req = req,
				     .node = node_of(req, ino),
				     .alias = ino == FUSE_ROOT_ID ? 0 : (unsigned)(ino & SIM_FUSE_ALIASES),
				     .size = size,
				     .at = at };
	struct server *server = mounted_of(req)->server;
	struct hanging *copy;

	(void)fi;
	if (ask.node->kind != SIM_FILE || !sim_hangs(server->kernel, ask.node)) {
		answer_read(&ask);
		return;
	}
	/* Do not let the read hang while an invalidation is in progress, because the read would block it. */
	if (sim_fuse_forgets(server)) {
		answer_read(&ask);
		sim_tree_stale(&server->kernel->tree, ask.node);
		return;
	}
	copy = mem_new(1, sizeof(*copy));
	*copy = ask;
	copy->next = server->hanging;
	server->hanging = copy;
}

bool sim_fuse_is_read(const struct server *server, const struct sim_node *file)
{
	const struct hanging *hanging = server->hanging;

	while (hanging && hanging->node != file)
		hanging = hanging->next;
	return hanging;
}

void sim_fuse_answer_reads(struct server *server)
{
	struct hanging **at = &server->hanging;

	while (*at) {
		struct hanging *hanging = *at;

		if (sim_hangs(server->kernel, hanging->node)) {
			at = &hanging->next;
			continue;
		}
		*at = hanging->next;
		answer_read(hanging);
		free(hanging);
	}
}

static void write_done(struct sim_write *write, ssize_t result)
{
	struct waiting *waiting = (struct waiting *)write;

	waiting->node->writing &= ~(1U << waiting->alias);
	sim_fuse_reply_write(waiting->server, waiting->req, result);
	free(waiting);
}

static void op_write(fuse_req_t req, fuse_ino_t ino, const char *data, size_t size, off_t at, struct fuse_file_info *fi)
{
	struct sim_node *node = node_of(req, ino);
	int error = access_check(node, node->kind == SIM_FILE && node->attr->store);
	autofree char *copy = NULL;
	struct waiting *waiting;

	(void)at;
	(void)fi;
	if (error) {
		fuse_reply_err(req, error);
		return;
	}
	copy = mem_new(1, size + 1);
	memcpy(copy, data, size);
	waiting = mem_new(1, sizeof(*waiting));
	*waiting = (struct waiting){ .write = { .data = copy, .len = size, .done = write_done },
				     .server = mounted_of(req)->server,
				     .req = req,
				     .node = node,
				     .alias = (unsigned)(ino & SIM_FUSE_ALIASES) };
	node->writing |= 1U << waiting->alias;
	waiting->write.pid = fuse_req_ctx(req)->pid;
	node->attr->store(node, &waiting->write);
}

static void op_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	(void)ino;
	if (!mounted_of(req)->opens_directories) {
		/* ENOSYS makes the real kernel cache all listings until mtime changes. */
		fuse_reply_err(req, ENOSYS);
		return;
	}
	fi->cache_readdir = fi->keep_cache = 1;
	fuse_reply_open(req, fi);
}

static size_t list_own(fuse_req_t req, char *buf, size_t size, const struct sim_node *dir, off_t from, bool plus)
{
	static const char *const names[] = { ".", ".." };
	size_t used = 0;

	for (off_t i = from; i < 2; i++) {
		struct fuse_entry_param e = { 0 };

		e.attr = (struct stat){ .st_ino = dir->id, .st_mode = S_IFDIR };
		used += plus ? fuse_add_direntry_plus(req, buf + used, size - used, names[i], &e, i + 1)
			     : fuse_add_direntry(req, buf + used, size - used, names[i], &e.attr, i + 1);
	}
	return used;
}

static void list(fuse_req_t req, fuse_ino_t ino, size_t size, off_t from, bool plus)
{
	const struct sim_node *dir = node_of(req, ino);
	autofree char *buf = mem_new(1, size);
	size_t used = list_own(req, buf, size, dir, from, plus);

	if (dir->gone) {
		fuse_reply_err(req, ENOENT);
		return;
	}
	for (struct sim_node *node = dir->first; node; node = node->next) {
		struct fuse_entry_param e;
		size_t need;

		if ((off_t)node->position <= from)
			continue;
		sim_fuse_entry_fill(mounted_of(req), node, &e);
		need = plus ? fuse_add_direntry_plus(req, buf + used, size - used, node->name, &e,
						     (off_t)node->position)
			    : fuse_add_direntry(req, buf + used, size - used, node->name, &e.attr,
						(off_t)node->position);
		if (need > size - used)
			break;
		used += need;
		if (plus)
			sim_tree_refer(node);
	}
	fuse_reply_buf(req, buf, used);
}

static void op_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t from, struct fuse_file_info *fi)
{
	(void)fi;
	list(req, ino, size, from, false);
}

static void op_readdirplus(fuse_req_t req, fuse_ino_t ino, size_t size, off_t from, struct fuse_file_info *fi)
{
	(void)fi;
	list(req, ino, size, from, true);
}

static void op_create(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, struct fuse_file_info *fi)
{
	(void)parent;
	(void)name;
	(void)mode;
	(void)fi;
	fuse_reply_err(req, EACCES);
}

static void op_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode)
{
	(void)parent;
	(void)name;
	(void)mode;
	fuse_reply_err(req, EPERM);
}

static void op_unlink(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	(void)parent;
	(void)name;
	fuse_reply_err(req, EPERM);
}

static void op_symlink(fuse_req_t req, const char *target, fuse_ino_t parent, const char *name)
{
	(void)target;
	op_unlink(req, parent, name);
}

static void op_rename(fuse_req_t req, fuse_ino_t parent, const char *name, fuse_ino_t to, const char *new_name,
		      unsigned int flags)
{
	(void)to;
	(void)new_name;
	(void)flags;
	op_unlink(req, parent, name);
}

const struct fuse_lowlevel_ops sim_fuse_ops = {
	.init = op_init,
	.lookup = op_lookup,
	.forget = op_forget,
	.forget_multi = op_forget_multi,
	.getattr = op_getattr,
	.setattr = op_setattr,
	.readlink = op_readlink,
	.open = op_open,
	.release = op_release,
	.read = op_read,
	.write = op_write,
	.opendir = op_opendir,
	.readdir = op_readdir,
	.readdirplus = op_readdirplus,
	.create = op_create,
	.mkdir = op_mkdir,
	.unlink = op_unlink,
	.rmdir = op_unlink,
	.symlink = op_symlink,
	.rename = op_rename,
};
