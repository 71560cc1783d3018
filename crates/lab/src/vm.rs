//! A device that is a virtual machine: another kernel, booted under qemu, that forwards.
