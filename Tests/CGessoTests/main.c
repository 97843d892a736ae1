#include "check.h"

int check_failures;

int main(void)
{
    const check_test *suites[] = {bitmap_tests, composite_tests, context_tests, context_limits_tests, blend_tests, codec_tests, blob_tests,
                                  blob_bytes_tests, band_tests, band_way_tests, kernel_tests, kernel_set_tests,
                                  kernel_picture_tests, parts_tests};
    int passed = 0, failed = 0;
    for (size_t i = 0; i < sizeof suites / sizeof *suites; i++)
        for (const check_test *test = suites[i]; test->run; test++) {
            int before = check_failures;
            test->run();
            bool fine = check_failures == before;
            if (fine) passed++; else failed++;
            printf("%s %s\n", fine ? "ok  " : "FAIL", test->sentence);
        }
    printf("%d passed, %d failed\n", passed, failed);
    return failed > 0;
}
