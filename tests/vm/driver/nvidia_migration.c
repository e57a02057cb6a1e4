/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * nvidia: VFIO's migration protocol, with pre-copy and P2P. A vGPU's state is 4 KiB and a header, which goes first, so
 * that a target with another type or another version of the driver says so before the guest stops. It is the same for
 * mdevs and for VFs: each takes the other's.
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
	u32 type, mib;
	char driver[VERSION_MAX];
};

struct vgpu_state {
	struct header header;
	u64 moves;
	u8 memory[4096]; /* of which each byte follows from `moves` */
};

/*
 * A file through which a state goes. It can outlive its vGPU, of which nothing is known once it has ended. Its lock is
 * not held while the user's memory is touched, since a reset takes it with locks that a page fault takes, too.
 */
struct transfer {
	struct file *file;
	struct mutex lock;
	struct migration *migration;
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

static bool suits(const struct migration *migration, const struct header *header)
{
	if (header->magic == MAGIC && header->type == migration->type && header->mib == migration->mib &&
	    sysfs_streq(header->driver, driver_version))
		return true;
	dev_err(migration->dev, "a vGPU of type %u and driver %.*s cannot be resumed as type %u with driver %s\n",
		header->type, VERSION_MAX, header->driver, migration->type, driver_version);
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
	if (transfer->size >= sizeof(transfer->state.header) && !suits(transfer->migration, &transfer->state.header))
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
static void complete_saving(struct migration *migration)
{
	struct transfer *transfer = migration->transfer;

	guard(mutex)(&transfer->lock);
	transfer->state.moves = migration->moves;
	for (size_t i = 0; i < sizeof(transfer->state.memory); i++)
		transfer->state.memory[i] = byte_of(migration->moves, i);
	transfer->size = sizeof(transfer->state);
	transfer->complete = true;
}

/* The user has a reference of its own to the file that this returns. */
static struct file *begin_transfer(struct migration *migration, const struct file_operations *fops, int flags)
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
	transfer->migration = migration;
	migration->transfer = transfer;
	return get_file(file);
}

static struct file *begin_saving(struct migration *migration)
{
	struct file *file = begin_transfer(migration, &saving_fops, O_RDONLY);
	struct header *header;

	if (IS_ERR(file))
		return file;
	header = &migration->transfer->state.header;
	header->magic = MAGIC;
	header->type = migration->type;
	header->mib = migration->mib;
	strscpy(header->driver, driver_version);
	migration->transfer->size = sizeof(*header);
	return file;
}

static void end_transfer(struct migration *migration)
{
	struct transfer *transfer = migration->transfer;

	if (!transfer)
		return;
	migration->transfer = NULL;
	scoped_guard(mutex, &transfer->lock) transfer->ended = true;
	fput(transfer->file);
}

static int load_state(struct migration *migration)
{
	const struct transfer *transfer = migration->transfer;
	const struct vgpu_state *state = &transfer->state;

	guard(mutex)(&migration->transfer->lock);
	if (transfer->size != sizeof(*state) || !suits(migration, &state->header))
		return -EINVAL;
	for (size_t i = 0; i < sizeof(state->memory); i++)
		if (state->memory[i] != byte_of(state->moves, i))
			return -EIO;
	migration->moves = state->moves + 1;
	dev_info(migration->dev, "the state of a vGPU has arrived, move %llu\n", migration->moves);
	return 0;
}

/* One step of those that vfio_mig_get_next_state() names. */
static struct file *step_to(struct migration *migration, enum vfio_device_mig_state next)
{
	enum vfio_device_mig_state state = migration->state;
	bool precopy = state == VFIO_DEVICE_STATE_PRE_COPY || state == VFIO_DEVICE_STATE_PRE_COPY_P2P;
	struct file *file = NULL;
	int ret = 0;

	switch (next) {
	case VFIO_DEVICE_STATE_PRE_COPY:
	case VFIO_DEVICE_STATE_PRE_COPY_P2P:
		return precopy ? NULL : begin_saving(migration);
	case VFIO_DEVICE_STATE_STOP_COPY:
		if (!precopy)
			file = begin_saving(migration);
		if (!IS_ERR(file))
			complete_saving(migration);
		return file;
	case VFIO_DEVICE_STATE_RESUMING:
		return begin_transfer(migration, &resuming_fops, O_WRONLY);
	case VFIO_DEVICE_STATE_STOP:
		if (state == VFIO_DEVICE_STATE_RESUMING)
			ret = load_state(migration);
		if (ret)
			return ERR_PTR(ret);
		fallthrough;
	default: /* it runs, or stands still: nothing is under way */
		end_transfer(migration);
		return NULL;
	}
}

static struct file *set_state(struct vfio_device *vdev, enum vfio_device_mig_state state)
{
	struct migration *migration = migration_of(vdev);
	struct file *file = NULL;

	guard(mutex)(&migration->lock);
	while (!file && migration->state != state) {
		enum vfio_device_mig_state next;
		int ret = vfio_mig_get_next_state(vdev, migration->state, state, &next);

		if (ret)
			return ERR_PTR(ret);
		file = step_to(migration, next);
		if (IS_ERR(file))
			return file;
		migration->state = next;
	}
	return file;
}

static int get_state(struct vfio_device *vdev, enum vfio_device_mig_state *state)
{
	struct migration *migration = migration_of(vdev);

	guard(mutex)(&migration->lock);
	*state = migration->state;
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

void migration_init(struct vfio_device *vdev)
{
	struct migration *migration = migration_of(vdev);

	mutex_init(&migration->lock);
	migration->dev = vdev->dev;
	migration->state = VFIO_DEVICE_STATE_RUNNING;
	vdev->migration_flags = VFIO_MIGRATION_STOP_COPY | VFIO_MIGRATION_P2P | VFIO_MIGRATION_PRE_COPY;
	vdev->mig_ops = &migration_ops;
}

void migration_reset(struct migration *migration)
{
	guard(mutex)(&migration->lock);
	end_transfer(migration);
	migration->state = VFIO_DEVICE_STATE_RUNNING;
}

void migration_begin(struct migration *migration, u32 type, u32 mib)
{
	migration_reset(migration);
	migration->type = type;
	migration->mib = mib;
	migration->moves = 0;
}
