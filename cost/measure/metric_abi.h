#pragma once

/* What a shared object offers to be a metric of a search (docs/metrics.md): the function MscMetric.
   For C and C++; it needs nothing of MSCGym but this file. */

#include <stdint.h> /* NOLINT(modernize-deprecated-headers): for C, too */

/* NOLINTBEGIN(modernize-use-using): for C, too */
#ifdef __cplusplus
extern "C" {
#endif

/* Values of an input or output of the model, one row after another, the last axis fastest. */
typedef struct MscMetricArray {
  const char* name;
  const char* type; /* of a value: f32, f64, f16, i8 to i64, u8 to u64, bool */
  const void* values;
  const int64_t* dims; /* [count, ...] */
  int64_t rank;
} MscMetricArray;

typedef struct MscMetricCall {
  int64_t first;                 /* number of the first sample among those of quality.data */
  int64_t count;                 /* number of samples */
  const MscMetricArray* samples; /* inputs of the model */
  int64_t sample_arrays;
  const MscMetricArray* outputs; /* outputs of the candidate */
  int64_t output_arrays;
  const int32_t* labels;        /* class numbers [count]; NULL if there are none */
  const char* const* arguments; /* those behind the shared object in `library` */
  int64_t argument_count;
} MscMetricCall;

/* What MscMetric wrote. */
enum {
  MSC_METRIC_FAILED = 0, /* nothing; stderr says why */
  MSC_METRIC_ONE = 1,    /* values[0], one number for all samples */
  MSC_METRIC_EACH = 2    /* values[0 .. count), one number for each sample */
};

/* Computes the metric and writes it to `values`, which has room for `count` numbers. It is called
   once in a process of its own. */
int MscMetric(const MscMetricCall* call, double* values);

#ifdef __cplusplus
}
#endif
/* NOLINTEND(modernize-use-using) */
