import type { Edit } from './text-edits.ts';

// Bugs that the checker must find.

/** Where the processes of a world find the name of their bug. */
export const plantedFile = 'planted';

export const plantedBugs = {
  'a lost event row': [
    {
      file: 'platform/postgres/job-end.ts',
      from: `if (job.callbackUrl !== null && job.status`,
      to: `if (!job && job.status`,
    },
  ],
  'a key in a log': [
    {
      file: 'platform/postgres/content-key-store.ts',
      from: 'const { kid, envelope } = rows[0];',
      to: `const { kid, envelope } = rows[0];
      console.error(unwrapContentKey(envelope, { hash, kid }, this.#encryptionKeys).toString('hex'));`,
    },
  ],
  'a chunk of another plan': [
    {
      file: 'runner/handlers/video-transcode/chunked/finish.ts',
      from: 'chunkResultKey(context.task.rev, name)',
      to: 'chunkResultKey(context.task.rev, name === 1 ? 0 : name)',
    },
  ],
  'half a surrogate in results': [
    {
      file: 'platform/postgres/job-end.ts',
      from: 'toJson(final.results),',
      to: String.raw`toJson(final.results)?.replace('"hls"', '"hls\\ud83d"') ?? null,`,
    },
  ],
  'a status that goes back': [
    {
      file: 'platform/postgres/webhook-event-store.ts',
      from: `'update jobs set callback_status = $2 where id = $1'`,
      to: `"update jobs set callback_status = $2, status = 'processing' where id = $1"`,
    },
  ],
  'a budget that is not looked at': [
    {
      file: 'platform/postgres/rollout-item-store.ts',
      from: '(counted[0]?.running ?? 0) >= spec.budget.jobs',
      to: '(counted[0]?.running ?? 0) >= 1000',
    },
  ],
  'a rollback that publishes nothing': [
    { file: 'jobs/rollouts/roll-back.ts', from: 'await publishRevision(dependencies, {', to: 'void ({' },
  ],
  'a clear segment in an encrypted media': [
    {
      file: 'runner/tools/packager.ts',
      from: `'--clear_lead',\n            '0',`,
      to: `'--clear_lead',\n            '2',`,
    },
  ],
  'a deletion that forgets a folder': [
    { file: 'controller/upkeep/media-deletion.ts', from: '[...mediaFolders(hash)]', to: 'mediaFolders(hash).slice(1)' },
  ],
  'parts that stay': [{ file: 'jobs/uploads/remove.ts', from: 'await parts.abort(source);', to: '' }],
  'an import of another digest': [{ file: 'controller/imports/transfer.ts', from: 'digest?.update(content);', to: '' }],
  'an import that leaves its object': [{ file: 'jobs/imports/remove.ts', from: '? [source] : []', to: '? [] : []' }],
  'digests of nothing': [
    {
      file: 'runner/steps/publish.ts',
      from: 'digestDocuments([...published, ...objects]);\n  await',
      to: 'digestDocuments([]);\n  await',
    },
  ],
  'two reruns at once': [
    {
      file: 'jobs/submission/rerun.ts',
      from: 'rerunKey(idempotencyKey({ type, hash, source, options }))',
      to: 'rerunKey(dependencies.randomUuid())',
    },
  ],
  'a receiver that is forgotten': [
    {
      file: 'platform/postgres/job-end.ts',
      from: 'for (const { url } of further)',
      to: 'for (const { url } of further.slice(1))',
    },
  ],
  'an attempt that is counted twice': [
    {
      file: 'platform/postgres/ended-attempts.ts',
      from: `used_process_ms = used_process_ms + `,
      to: `used_process_ms = used_process_ms + 2 * `,
    },
  ],
} as const satisfies Readonly<Record<string, readonly Edit[]>>;

export type PlantedBug = keyof typeof plantedBugs;
