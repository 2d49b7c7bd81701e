// Names that headers of HIP 5.2 lack and HIP 6.2 has in enumerations and as flags, with HIP 6.2's values. They are macros,
// since an enumeration cannot be added to. Graph node types and kinds of memory are not here: their numbers changed with
// HIP 6, and the library goes by those of the installed headers.
#pragma once

#define hipLimitStackSize ((enum hipLimit_t)0x00)
#define hipLimitRange ((enum hipLimit_t)0x03)

#define hipHostAllocDefault 0x0
#define hipHostAllocPortable 0x1
#define hipHostAllocMapped 0x2
#define hipHostAllocWriteCombined 0x4
#define hipHostRegisterReadOnly 0x08
#define hipExtHostAllocNumaUser 0x20000000
#define hipExtHostAllocCoherent 0x40000000
#define hipExtHostAllocNonCoherent 0x80000000
#define hipDeviceMallocUncached 0x3
#define hipDeviceMallocContiguous 0x4

#define hipEventDisableSystemFence 0x20000000
#define hipOccupancyDisableCachingOverride 0x01
#define hipMemcpyDeviceToDeviceNoCU ((hipMemcpyKind)1024)

#define hipErrorInvalidChannelDescriptor ((hipError_t)911)
#define hipErrorInvalidTexture ((hipError_t)912)

#define hipGraphInstantiateFlagUpload ((hipGraphInstantiateFlags)2)
#define hipGraphInstantiateFlagDeviceLaunch ((hipGraphInstantiateFlags)4)
#define hipGraphInstantiateFlagUseNodePriority ((hipGraphInstantiateFlags)8)

#define HIP_R_8I ((hipDataType)3)
#define HIP_C_8I ((hipDataType)7)
#define HIP_R_8U ((hipDataType)8)
#define HIP_C_8U ((hipDataType)9)
#define HIP_R_32I ((hipDataType)10)
#define HIP_C_32I ((hipDataType)11)
#define HIP_R_32U ((hipDataType)12)
#define HIP_C_32U ((hipDataType)13)
#define HIP_R_16BF ((hipDataType)14)
#define HIP_C_16BF ((hipDataType)15)
#define HIP_R_4I ((hipDataType)16)
#define HIP_C_4I ((hipDataType)17)
#define HIP_R_4U ((hipDataType)18)
#define HIP_C_4U ((hipDataType)19)
#define HIP_R_16I ((hipDataType)20)
#define HIP_C_16I ((hipDataType)21)
#define HIP_R_16U ((hipDataType)22)
#define HIP_C_16U ((hipDataType)23)
#define HIP_R_64I ((hipDataType)24)
#define HIP_C_64I ((hipDataType)25)
#define HIP_R_64U ((hipDataType)26)
#define HIP_C_64U ((hipDataType)27)
#define HIP_R_8F_E4M3 ((hipDataType)28)
#define HIP_R_8F_E5M2 ((hipDataType)29)
#define HIP_R_8F_E4M3_FNUZ ((hipDataType)1000)
#define HIP_R_8F_E5M2_FNUZ ((hipDataType)1001)
