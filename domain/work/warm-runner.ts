import { z } from 'zod';
import { parseJson } from '../parse-json.ts';
import { readTask, type Task } from './task.ts';

/**
 * The protocol of a warm runner (`runner/main.ts serve`), which does one task after another: each is a line of JSON on
 * its standard input, with the folder of its workspace. A line on both outputs ends the task. The runner ends when its
 * standard input does.
 */
export interface ServedTask {
  readonly task: Task;
  readonly workspace: string;
}

const servedTaskSchema = z.strictObject({ task: z.unknown(), workspace: z.string().min(1) });

/** Reads one line of a warm runner's standard input. @throws ZodError, SyntaxError */
export function parseServedTask(line: string): ServedTask {
  const { task, workspace } = servedTaskSchema.parse(parseJson(line));
  return { task: readTask(task), workspace };
}

const taskEndSchema = z.strictObject({
  type: z.literal('end'),
  /** The exit code that the process of a single task would have ended with (domain/exit-codes.ts). */
  exit_code: z.int(),
  /** The runner's resident memory after the task. */
  rss_bytes: z.int().nonnegative(),
});
export type TaskEnd = z.infer<typeof taskEndSchema>;

/** Reads a line of a warm runner's outputs; null for any other line. */
export function parseTaskEnd(line: string): TaskEnd | null {
  if (!line.startsWith('{"type":"end"')) return null;
  try {
    return taskEndSchema.safeParse(parseJson(line)).data ?? null;
  } catch {
    return null;
  }
}
