# SPDX-License-Identifier: LGPL-2.1-or-later
"""A live migration: what the two ComputeManagers call, in their order. What they send each other is a word."""
import base64
import json
import uuid

from nova import objects


def pack(data, disks=None):
    return base64.b64encode(json.dumps([data.obj_to_primitive(), disks]).encode()).decode()


def unpack(word):
    primitive, disks = json.loads(base64.b64decode(word))
    return objects.LibvirtLiveMigrateData.obj_from_primitive(primitive), disks


class Migrations:
    """Commands of a Life."""

    def do_destination(self, name):
        sizes = {'disk_available_least': 10, 'free_disk_gb': 10}
        return pack(self.driver.check_can_live_migrate_destination(
            self.context, self.instance(name), {'cpu_info': '{}'}, sizes, None, None))

    def do_source(self, name, word):
        data, _disks = unpack(word)
        data.is_volume_backed = False
        instance = self.instance(name)
        data = self.driver.check_can_live_migrate_source(self.context, instance, data, {})
        return pack(data, self.driver.get_instance_disk_info(instance, {}))

    def do_claim(self, name, word):
        data, disks = unpack(word)
        instance = self.instance(name)
        allocations = self.allocations.claim(instance.uuid, None)
        try:
            data = self.driver.check_source_migrate_data_at_dest(self.context, instance, data, None, None, allocations)
        finally:
            self.driver.cleanup_live_migration_destination_check(self.context, data)
        return pack(data, disks)

    def do_claims(self, name):
        return ' '.join(self.driver.instance_claimed_mdevs.get(self.instance(name).uuid, []))

    def do_arriving(self, name, word):
        data, disks = unpack(word)
        return pack(self.driver.pre_live_migration(self.context, self.instance(name), {}, self.network(), disks, data))

    def do_migrate(self, name, word, host):
        data, _disks = unpack(word)
        data.migration = objects.Migration(self.context, id=1, uuid=str(uuid.uuid4()), status='running')
        ends = []

        def post(context, instance, _dest, _block_migration, migrate_data):
            self.driver.post_live_migration(context, instance, {}, migrate_data)
            self.driver.post_live_migration_at_source(context, instance, self.network())
            self.driver.cleanup(context, instance, self.network(), destroy_disks=True, migrate_data=migrate_data,
                                destroy_vifs=False)
            ends.append('arrives')

        def recover(context, instance, _dest, migrate_data, migration_status='failed'):
            self.driver.rollback_live_migration_at_source(context, instance, migrate_data)
            ends.append('is rolled back')
        self.driver.live_migration(self.context, self.instance(name), host, post, recover, data.block_migration, data)
        return ends[0]

    def do_arrived(self, name):
        self.driver.post_live_migration_at_destination(self.context, self.instance(name), self.network(), True, {})

    def do_rollback(self, name, word=None):
        """Without what the other host sent: of a migration that was only checked."""
        data = unpack(word)[0] if word else objects.LibvirtLiveMigrateData(is_shared_instance_path=True)
        self.driver.rollback_live_migration_at_destination(self.context, self.instance(name), self.network(), {},
                                                           bool(word), data)
