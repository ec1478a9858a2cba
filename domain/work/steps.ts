/** The steps of an attempt, in order. `publish` packages what `process` made; `access.ts` says what each may know. */
export const steps = ['fetch', 'process', 'publish'] as const;
export type Step = (typeof steps)[number];
/** A step as a program runs it; `all`: every step in one process. */
export type StepName = Step | 'all';

/** The environment variables of a step's process. Everything else of the parent's environment is left out. */
export const runnerVariables = {
  /** The task document, JSON. */
  task: 'RUNNER_TASK',
  /** The index of the pod in its Indexed Job, from the Job controller; only for chunks. */
  completionIndex: 'JOB_COMPLETION_INDEX',
  /** The folder that the steps share. */
  workspace: 'RUNNER_WORKSPACE',
  /** The folder that `publish` writes to, where the workspace is read-only for it; by default the workspace. */
  output: 'RUNNER_OUTPUT',
  /** Content key as `<kid hex>:<key hex>`; only for `publish` of an encrypted transcode. */
  contentKey: 'CONTENT_KEY',
  /** The address that goes into playlists as the key's URI; beside `contentKey`. */
  keyEndpoint: 'KEY_ENDPOINT',
  /** Where reports are POSTed as well; optional. */
  reportUrl: 'REPORT_URL',
  reportToken: 'REPORT_TOKEN',
  /** Where the runner of a batch asks for its tasks (domain/work/batch-tasks.ts). */
  tasksUrl: 'TASKS_URL',
  tasksToken: 'TASKS_TOKEN',
  /** Where spans are sent, an OTLP/HTTP collector; optional. */
  otlpEndpoint: 'OTEL_EXPORTER_OTLP_ENDPOINT',
  /** A file of the kubelet's that a step leaves the reason of its failure in; optional. */
  terminationLog: 'RUNNER_TERMINATION_LOG',
} as const;
