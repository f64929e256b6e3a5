// The patches as the driver loads them, in the library: nothing has to be found at run time.
.section .rodata
.balign 64
.globl orrery_patch_image
.globl orrery_patch_image_end
orrery_patch_image:
.incbin "patches.fatbin"
orrery_patch_image_end:
.byte 0
.section .note.GNU-stack,"",%progbits
