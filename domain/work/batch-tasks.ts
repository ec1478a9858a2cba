import { z } from 'zod';
import { jobErrorSchema } from '../job-error.ts';
import { parseJson } from '../parse-json.ts';
import { readTask, type Task } from './task.ts';
import { stepRunsSchema } from './unit-run.ts';

/**
 * The protocol of a batch: a runner (`runner/main.ts batch`) does one image job after another and asks the controller
 * for each, `POST <TASKS_URL>` with a token of its own. The request says how the last task ended. It may be repeated: a
 * task whose answer was lost is sent again.
 *
 * Answers: 200 with a task; 204: nothing waits now; 410: the runner must end; 503: this worker does not lead.
 */
const taskRequestSchema = z.strictObject({
  /** The task that the runner has done since its last request. */
  ended: z
    .strictObject({
      job_id: z.uuid(),
      attempt: z.int().positive(),
      /** The exit code that the process of a single task would have ended with (domain/exit-codes.ts). */
      exit_code: z.int().min(0).max(255),
      error: jobErrorSchema.nullable(),
      steps: stepRunsSchema.optional(),
    })
    .nullable(),
  /** The runner ends and wants no further task. */
  is_last: z.boolean(),
});
export type TaskRequest = z.infer<typeof taskRequestSchema>;
/** How a task ended. */
export type EndedTask = NonNullable<TaskRequest['ended']>;
/** The runner's report at the end of a task. */
export type TaskResult = Pick<EndedTask, 'error' | 'steps'>;

/** Reads a request; null for anything else. */
export function parseTaskRequest(json: string): TaskRequest | null {
  try {
    return taskRequestSchema.safeParse(parseJson(json)).data ?? null;
  } catch {
    return null;
  }
}

const taskAnswerSchema = z.strictObject({ task: z.unknown() });

/** Reads the answer of a request. @throws ZodError, SyntaxError */
export function parseTaskAnswer(json: string): Task {
  return readTask(taskAnswerSchema.parse(parseJson(json)).task);
}
