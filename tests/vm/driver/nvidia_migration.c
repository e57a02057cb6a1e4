/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * nvidia: VFIO's migration protocol, with pre-copy and P2P. A vGPU's state is 4 KiB and a header, which goes first, so
 * that a target with another type or another version of the driver says so before the guest stops.
 */
#include <linux/anon_inodes.h>
#include <linux/cleanup.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "nvidia.h"

#define MAGIC 0x75706776ULL

struct header {
	u64 magic;
	u32 type, gib;
	char driver[VERSION_MAX];
};

struct vgpu_state {
	struct header header;
	u64 moves;
	u8 memory[4096]; /* of which each byte follows from `moves` */
};

/*
 * A file through which a state goes. It can outlive its VF, of which nothing is known once it has ended. Its lock is
 * not held while the user's memory is touched, since a reset takes it with locks that a page fault takes, too.
 */
struct transfer {
	struct file *file;
	struct mutex lock;
	struct vf *vf;
	bool ended, complete; /* nothing more goes through it; nothing more will come into it */
	size_t size, read;
	struct vgpu_state state;
};

static u8 byte_of(u64 moves, size_t i)
{
	return moves * 31 + i;
}

static ssize_t transfer_read(struct file *file, char __user *buf, size_t len, loff_t *pos)
{
	struct transfer *transfer = file->private_data;
	char *part __free(kfree) = kmalloc(sizeof(transfer->state), GFP_KERNEL);

	if (!part)
		return -ENOMEM;
	scoped_guard(mutex, &transfer->lock)
	{
		if (transfer->ended)
			return -ENODEV;
		len = min(len, transfer->size - transfer->read);
		if (!len)
			return transfer->complete ? 0 : -ENOMSG;
		memcpy(part, (char *)&transfer->state + transfer->read, len);
		transfer->read += len;
	}
	return copy_to_user(buf, part, len) ? -EFAULT : len;
}

/* What is left of that which goes before the guest stops. */
static long transfer_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct transfer *transfer = file->private_data;
	struct vfio_precopy_info info = {};
	size_t size = offsetofend(struct vfio_precopy_info, dirty_bytes);

	if (cmd != VFIO_MIG_GET_PRECOPY_INFO)
		return -ENOTTY;
	if (copy_from_user(&info, (void __user *)arg, size))
		return -EFAULT;
	if (info.argsz < size)
		return -EINVAL;
	scoped_guard(mutex, &transfer->lock)
	{
		if (transfer->ended || transfer->complete)
			return -EINVAL;
		info.initial_bytes = transfer->size - transfer->read;
		info.dirty_bytes = 0;
	}
	return copy_to_user((void __user *)arg, &info, size) ? -EFAULT : 0;
}

static bool suits(const struct vf *vf, const struct header *header)
{
	if (header->magic == MAGIC && header->type == vf->type->id && header->gib == vf->type->gib &&
	    sysfs_streq(header->driver, driver_version))
		return true;
	pci_err(vf->core.pdev, "a vGPU of type %u and driver %.*s cannot be resumed as type %u with driver %s\n",
		header->type, VERSION_MAX, header->driver, vf->type->id, driver_version);
	return false;
}

static ssize_t transfer_write(struct file *file, const char __user *buf, size_t len, loff_t *pos)
{
	struct transfer *transfer = file->private_data;
	char *part __free(kfree) = NULL;

	if (len > sizeof(transfer->state))
		return -EINVAL;
	part = memdup_user(buf, len);
	if (IS_ERR(part))
		return PTR_ERR(no_free_ptr(part));
	guard(mutex)(&transfer->lock);
	if (transfer->ended)
		return -ENODEV;
	if (len > sizeof(transfer->state) - transfer->size)
		return -EINVAL;
	memcpy((char *)&transfer->state + transfer->size, part, len);
	transfer->size += len;
	if (transfer->size >= sizeof(transfer->state.header) && !suits(transfer->vf, &transfer->state.header))
		return -EINVAL;
	return len;
}

static int transfer_release(struct inode *inode, struct file *file)
{
	kfree(file->private_data);
	return 0;
}

static const struct file_operations saving_fops = {
	.owner = THIS_MODULE,
	.read = transfer_read,
	.unlocked_ioctl = transfer_ioctl,
	.release = transfer_release,
};

static const struct file_operations resuming_fops = {
	.owner = THIS_MODULE,
	.write = transfer_write,
	.release = transfer_release,
};

/* The rest of the state, once the vGPU has stopped. */
static void complete_saving(struct vf *vf)
{
	struct transfer *transfer = vf->transfer;

	guard(mutex)(&transfer->lock);
	transfer->state.moves = vf->moves;
	for (size_t i = 0; i < sizeof(transfer->state.memory); i++)
		transfer->state.memory[i] = byte_of(vf->moves, i);
	transfer->size = sizeof(transfer->state);
	transfer->complete = true;
}

/* The user has a reference of its own to the file that this returns. */
static struct file *begin_transfer(struct vf *vf, const struct file_operations *fops, int flags)
{
	struct transfer *transfer = kzalloc(sizeof(*transfer), GFP_KERNEL);
	struct file *file;

	if (!transfer)
		return ERR_PTR(-ENOMEM);
	file = anon_inode_getfile("nvidia_vgpu_migration", fops, transfer, flags);
	if (IS_ERR(file)) {
		kfree(transfer);
		return file;
	}
	stream_open(file->f_inode, file);
	mutex_init(&transfer->lock);
	transfer->file = file;
	transfer->vf = vf;
	vf->transfer = transfer;
	return get_file(file);
}

static struct file *begin_saving(struct vf *vf)
{
	struct file *file = begin_transfer(vf, &saving_fops, O_RDONLY);
	struct header *header;

	if (IS_ERR(file))
		return file;
	header = &vf->transfer->state.header;
	header->magic = MAGIC;
	header->type = vf->type->id;
	header->gib = vf->type->gib;
	strscpy(header->driver, driver_version);
	vf->transfer->size = sizeof(*header);
	return file;
}

static void end_transfer(struct vf *vf)
{
	struct transfer *transfer = vf->transfer;

	if (!transfer)
		return;
	vf->transfer = NULL;
	scoped_guard(mutex, &transfer->lock) transfer->ended = true;
	fput(transfer->file);
}

static int load_state(struct vf *vf)
{
	const struct transfer *transfer = vf->transfer;
	const struct vgpu_state *state = &transfer->state;

	guard(mutex)(&vf->transfer->lock);
	if (transfer->size != sizeof(*state) || !suits(vf, &state->header))
		return -EINVAL;
	for (size_t i = 0; i < sizeof(state->memory); i++)
		if (state->memory[i] != byte_of(state->moves, i))
			return -EIO;
	vf->moves = state->moves + 1;
	pci_info(vf->core.pdev, "the state of a vGPU has arrived, move %llu\n", vf->moves);
	return 0;
}

/* One step of those that vfio_mig_get_next_state() names. */
static struct file *step_to(struct vf *vf, enum vfio_device_mig_state next)
{
	enum vfio_device_mig_state state = vf->migration_state;
	bool precopy = state == VFIO_DEVICE_STATE_PRE_COPY || state == VFIO_DEVICE_STATE_PRE_COPY_P2P;
	struct file *file = NULL;
	int ret = 0;

	switch (next) {
	case VFIO_DEVICE_STATE_PRE_COPY:
	case VFIO_DEVICE_STATE_PRE_COPY_P2P:
		return precopy ? NULL : begin_saving(vf);
	case VFIO_DEVICE_STATE_STOP_COPY:
		if (!precopy)
			file = begin_saving(vf);
		if (!IS_ERR(file))
			complete_saving(vf);
		return file;
	case VFIO_DEVICE_STATE_RESUMING:
		return begin_transfer(vf, &resuming_fops, O_WRONLY);
	case VFIO_DEVICE_STATE_STOP:
		if (state == VFIO_DEVICE_STATE_RESUMING)
			ret = load_state(vf);
		if (ret)
			return ERR_PTR(ret);
		fallthrough;
	default: /* it runs, or stands still: nothing is under way */
		end_transfer(vf);
		return NULL;
	}
}

static struct vf *migrating(struct vfio_device *vdev)
{
	return container_of(vdev, struct vf, core.vdev);
}

static struct file *set_state(struct vfio_device *vdev, enum vfio_device_mig_state state)
{
	struct vf *vf = migrating(vdev);
	struct file *file = NULL;

	guard(mutex)(&vf->migration);
	while (!file && vf->migration_state != state) {
		enum vfio_device_mig_state next;
		int ret = vfio_mig_get_next_state(vdev, vf->migration_state, state, &next);

		if (ret)
			return ERR_PTR(ret);
		file = step_to(vf, next);
		if (IS_ERR(file))
			return file;
		vf->migration_state = next;
	}
	return file;
}

static int get_state(struct vfio_device *vdev, enum vfio_device_mig_state *state)
{
	struct vf *vf = migrating(vdev);

	guard(mutex)(&vf->migration);
	*state = vf->migration_state;
	return 0;
}

static int get_data_size(struct vfio_device *vdev, unsigned long *size)
{
	*size = sizeof(struct vgpu_state);
	return 0;
}

static const struct vfio_migration_ops migration_ops = {
	.migration_set_state = set_state,
	.migration_get_state = get_state,
	.migration_get_data_size = get_data_size,
};

void migration_init(struct vf *vf)
{
	mutex_init(&vf->migration);
	vf->migration_state = VFIO_DEVICE_STATE_RUNNING;
	vf->core.vdev.migration_flags = VFIO_MIGRATION_STOP_COPY | VFIO_MIGRATION_P2P | VFIO_MIGRATION_PRE_COPY;
	vf->core.vdev.mig_ops = &migration_ops;
}

void migration_reset(struct vf *vf)
{
	guard(mutex)(&vf->migration);
	end_transfer(vf);
	vf->migration_state = VFIO_DEVICE_STATE_RUNNING;
}
