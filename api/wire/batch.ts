import { z } from 'zod';
import { submissionBodySchema } from '#domain/jobs/submission.ts';
import { answers, bodies } from '#platform/http/route-doc.ts';
import { jobCompletedSchema, jobCreatedSchema, jobSchema } from './job-schemas.ts';
import { problemSchema } from './problem.ts';

/** As many as share a statement. */
const batchSizeMax = 500;

/** The outer shape of a batch; each submission is checked by itself. */
export const batchShape = z.strictObject({ jobs: z.array(z.unknown()).min(1).max(batchSizeMax) });

/** A batch as documents show it. */
export const batchBodySchema = z
  .strictObject({ jobs: z.array(submissionBodySchema).min(1).max(batchSizeMax).describe('The submissions.') })
  .register(bodies, { id: 'BatchRequest' });

export const batchAnswerSchema = z
  .object({
    jobs: z
      .array(
        z.object({
          status: z.int().describe('The status that the submission would be answered with alone.'),
          job: z
            .union([jobSchema, jobCompletedSchema, jobCreatedSchema])
            .optional()
            .describe('The job; absent for a submission that was refused.'),
          problem: problemSchema.optional().describe('Why the submission was refused; absent otherwise.'),
        }),
      )
      .describe('One entry for each submission, in their order.'),
  })
  .register(answers, { id: 'BatchAnswer' });
