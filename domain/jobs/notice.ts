import { z } from 'zod';

/**
 * The notice in an answer to an equal submission:
 *
 * - `other_profile`: the job has another profile than the submission names
 * - `too_many_callbacks`: the job has so many receivers that this one is not called
 * - `callback_too_late`: the job had ended before, so this receiver is not called
 */
export const noticeSchema = z.object({
  code: z
    .enum(['other_profile', 'too_many_callbacks', 'callback_too_late'])
    .describe('What is to be noted, one word for programs.'),
  detail: z.string().describe('The same for people.'),
});
export type Notice = z.output<typeof noticeSchema>;
