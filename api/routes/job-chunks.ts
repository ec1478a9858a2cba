import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { jobTypeRow } from '#domain/job-types/index.ts';
import { findSplitWork } from '#jobs/completion/next-units.ts';
import { answers, type RouteDoc } from '#platform/http/route-doc.ts';
import type { ApiDependencies } from '../dependencies.ts';
import type { Guards } from '../hooks/guards.ts';
import { count, jobIdField } from '../wire/fields.ts';
import { findJob } from './jobs.ts';

const chunkSchema = z.object({
  frames: count.describe('How many frames it has.').meta({ examples: [1_800] }),
  finished: z.boolean().describe('Whether it is encoded.'),
});
const jobChunksSchema = z
  .object({
    job_id: jobIdField,
    chunks: z
      .array(chunkSchema)
      .nullable()
      .describe('The chunks in their order; null for a job in one piece, and where they are not known.'),
  })
  .register(answers, { id: 'JobChunks' });

const doc: RouteDoc = {
  tag: 'Jobs',
  operationId: 'listChunks',
  right: 'read',
  subject: 'job',
  summary: 'Show which chunks of a long video are encoded',
  description:
    '`chunks` is null for a job in one piece, before its source is cut, once its working objects are cleaned up, and where this server cannot see them: they may be in a `WORK_BUCKET`.',
  credential: 'api_key',
  path: { id: 'The job, a UUID.' },
  answers: { 200: { description: 'The chunks, in their order.', schemas: [jobChunksSchema] } },
  problems: ['not_found'],
};

/** `GET /api/jobs/{id}/chunks`. The bucket alone knows (`nextUnits`). */
export function addJobChunkRoute(
  app: FastifyInstance,
  { guards, jobs, media }: Pick<ApiDependencies, 'jobs' | 'media'> & { readonly guards: Guards },
): void {
  app.get<{ Params: { id: string } }>(
    '/api/jobs/:id/chunks',
    { onRequest: guards.authenticated, config: { doc } },
    async ({ params }): Promise<z.output<typeof jobChunksSchema>> => {
      const job = await findJob({ jobs }, params.id);
      const isSplit = jobTypeRow(job.type).firstUnit === 'split';
      const work = isSplit ? await findSplitWork(job.id, media).catch(() => null) : null;
      const chunks = work?.split.chunk_frames.map((frames, chunk) => ({ frames, finished: work.finished.has(chunk) }));
      return { job_id: job.id, chunks: chunks ?? null };
    },
  );
}
