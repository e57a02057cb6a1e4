/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Domains in XML, as literals: DOMAIN(LEASE("<v:device uuid='" A "'/>"), MDEV_XML(A) VF_XML("41", "4")). */
#pragma once

#include "domain/domxml.h"
#include "lib/names.h"

#define DOMAIN_XML(rest) "<domain type='kvm'><name>vm1</name><uuid>" VM "</uuid>" rest "</domain>"
#define DOMAIN(metadata, devices) DOMAIN_XML("<metadata>" metadata "</metadata><devices>" devices "</devices>")
#define LEASE_XML(rest) "<v:lease xmlns:v='" DOMXML_NS "'" rest "</v:lease>"
#define LEASE(devices) LEASE_XML(">" devices)
#define NOVA_XML(rest) "<nova:instance xmlns:nova='" DOMXML_NOVA_NS_PREFIX "1.1'>" rest "</nova:instance>"

#define MDEV_XML(uuid)                                                                                                 \
	"<hostdev mode='subsystem' type='mdev' model='vfio-pci'><source><address uuid='" uuid "'/></source></hostdev>"
#define PCI_XML(address)                                                                                               \
	"<hostdev mode='subsystem' type='pci' managed='no'><source><address " address "/></source></hostdev>"
/* 0000:BUS:00.FUNCTION */
#define VF_XML(bus, function) PCI_XML("domain='0x0000' bus='0x" bus "' slot='0x00' function='0x" function "'")
