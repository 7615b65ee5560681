MemcpyHtoD,0x00007f4b0a000000,512
MemcpyHtoD,0x00007f4b0a000200,512
kernel-1.traceg
