import { expect, test } from 'vitest';
import { countTests, failedFilesOf, failuresOf, retriesOf } from './test-counts.ts';

const clean = {
  success: true,
  numPassedTests: 3,
  numFailedTests: 0,
  numPendingTests: 0,
  numTodoTests: 0,
  testResults: [{ status: 'passed', assertionResults: [{ status: 'passed' }] }],
};
const fileThatDoesNotLoad = { status: 'failed', assertionResults: [] };
const fileWithAFailedTest = { status: 'failed', assertionResults: [{ status: 'passed' }, { status: 'failed' }] };

test.each([
  ['a clean run', clean, 0, { passed: 3, failed: 0, skipped: 0 }],
  [
    'skipped and todo tests, which are not passed',
    { ...clean, numPendingTests: 2, numTodoTests: 1 },
    0,
    { passed: 3, failed: 0, skipped: 3 },
  ],
  [
    'a failed test, once',
    { ...clean, success: false, numFailedTests: 1, testResults: [fileWithAFailedTest] },
    1,
    { passed: 3, failed: 1, skipped: 0 },
  ],
  [
    'a file that does not load as failed',
    { ...clean, success: false, testResults: [...clean.testResults, fileThatDoesNotLoad] },
    1,
    { passed: 3, failed: 1, skipped: 0 },
  ],
  [
    'a failed test and a file that does not load as two',
    { ...clean, success: false, numFailedTests: 1, testResults: [fileWithAFailedTest, fileThatDoesNotLoad] },
    1,
    { passed: 3, failed: 2, skipped: 0 },
  ],
  ['an error outside of every test as failed', clean, 1, { passed: 3, failed: 1, skipped: 0 }],
  [
    'a run without any test as failed',
    { ...clean, numPassedTests: 0, testResults: [] },
    0,
    { passed: 0, failed: 1, skipped: 0 },
  ],
])('it counts %s', (_what, report, status, counts) => {
  expect(countTests(JSON.stringify(report), status)).toEqual(counts);
});

test.each([
  ['no report', undefined],
  ['a report cut short', '{"success": true, "numPassed'],
])('%s is one failure, whatever the exit status', (_what, json) => {
  expect(countTests(json, 0)).toEqual({ passed: 0, failed: 1, skipped: 0 });
});

test('failures are listed with the message of every try, without stacks, and files that did not load with the reason', () => {
  const tests = [
    { status: 'passed', fullName: 'a', failureMessages: [] },
    { status: 'failed', fullName: 'b', failureMessages: ['Error: one\n    at x (y.ts:1:1)', 'Error: two'] },
  ];
  const testResults = [
    { name: 'a.test.ts', status: 'failed', message: '', assertionResults: tests },
    { name: 'b.test.ts', status: 'failed', message: 'SyntaxError: no', assertionResults: [] },
  ];
  const lines = ['b\n  Error: one\n  Error: two', 'b.test.ts: SyntaxError: no'];
  expect(failuresOf(JSON.stringify({ ...clean, testResults }))).toEqual(lines);
  expect(failuresOf(undefined)).toEqual([]);
});

test('a test that passed only when it was tried again is listed with the error of its first try', () => {
  const passed = { status: 'passed', fullName: 'a', failureMessages: [] };
  const retried = { status: 'passed', fullName: 'b', failureMessages: ['Error: one\n    at x'] };
  const testResults = [{ name: 'a.test.ts', status: 'passed', assertionResults: [passed, retried] }];
  expect(retriesOf(JSON.stringify({ ...clean, testResults }))).toEqual(['b\n  Error: one']);
});

test('the files that failed are listed, those that did not load too', () => {
  const testResults = [
    { name: 'a.test.ts', ...fileWithAFailedTest },
    { name: 'b.test.ts', ...fileThatDoesNotLoad },
    { name: 'c.test.ts', status: 'passed', assertionResults: [{ status: 'passed' }] },
  ];
  expect(failedFilesOf(JSON.stringify({ ...clean, testResults }))).toEqual(['a.test.ts', 'b.test.ts']);
  expect(failedFilesOf(undefined)).toEqual([]);
});
