interface Report {
  success: boolean;
  numPassedTests: number;
  numFailedTests: number;
  numPendingTests: number;
  numTodoTests: number;
  testResults: FileResult[];
}

interface FileResult {
  name: string;
  status: string;
  /** Why the file did not load. */
  message: string;
  assertionResults: { status: string; fullName: string; failureMessages: string[] }[];
}

/**
 * What a run of vitest did. What fails outside a test counts as failed too: a file that does not load, an error that no
 * test caught, a run that left no report, a run without any test.
 *
 * @param json what vitest's JSON reporter wrote; undefined when it wrote nothing
 * @param status vitest's exit status
 */
export function countTests(json: string | undefined, status: number) {
  const report = parse(json);
  if (!report) return { passed: 0, failed: 1, skipped: 0 };
  const filesFailedOutsideTests = report.testResults.filter(isFailedOutsideTests).length;
  const passed = report.numPassedTests;
  const skipped = report.numPendingTests + report.numTodoTests;
  const failed = report.numFailedTests + filesFailedOutsideTests;
  const wentWrong = status !== 0 || !report.success || passed === 0;
  return { passed, failed: failed === 0 && wentWrong ? 1 : failed, skipped };
}

/** What failed, each with the messages of its errors in every try, without stacks. */
export function failuresOf(json: string | undefined): string[] {
  return (parse(json)?.testResults ?? []).flatMap((file) => [
    ...(isFailedOutsideTests(file) ? [`${file.name}: ${withoutStack(file.message)}`] : []),
    ...file.assertionResults.filter(({ status }) => status === 'failed').map(described),
  ]);
}

/** The files that failed, or in which a test did. */
export function failedFilesOf(json: string | undefined): string[] {
  return (parse(json)?.testResults ?? []).filter(({ status }) => status === 'failed').map(({ name }) => name);
}

/** What passed only when it was tried again, each with the messages of the tries that failed. */
export function retriesOf(json: string | undefined): string[] {
  return (parse(json)?.testResults ?? [])
    .flatMap(({ assertionResults }) => assertionResults)
    .filter(({ status, failureMessages }) => status === 'passed' && failureMessages.length > 0)
    .map(described);
}

function described({ fullName, failureMessages }: FileResult['assertionResults'][number]): string {
  return [fullName, ...failureMessages.map(withoutStack)].join('\n  ');
}

function isFailedOutsideTests({ status, assertionResults }: FileResult): boolean {
  return status === 'failed' && !assertionResults.some((test) => test.status === 'failed');
}

function withoutStack(message: string): string {
  return message.replace(/\n\s+at [^]*$/, '').slice(0, 1000);
}

function parse(json: string | undefined): Report | undefined {
  try {
    return json === undefined ? undefined : (JSON.parse(json) as Report);
  } catch {
    // Cut off in the middle of writing.
    return undefined;
  }
}
