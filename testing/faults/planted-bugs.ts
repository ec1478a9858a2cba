import type { Edit } from './text-edits.ts';

// Bugs that the checker must find.

/** Where the processes of a world find the name of their bug. */
export const plantedFile = 'planted';

const notices = { file: 'controller/process/lease.ts', from: 'onLoss(state);\n      return;', to: 'continue;' };

export const plantedBugs = {
  'a lost event row': [
    {
      file: 'platform/postgres/job-end.ts',
      from: `if (job.callbackUrl !== null && job.status`,
      to: `if (!job && job.status`,
    },
  ],
  'a double publish': [
    notices,
    {
      file: 'platform/postgres/job-end.ts',
      from: 'where id = $1 and attempt = $2 and status = any($3) for update',
      to: 'where id = $1 and $2::int > 0 and $3::text[] is not null for update',
    },
  ],
  'writes of a stale owner': [
    notices,
    {
      file: 'platform/postgres/job-attempts.ts',
      from: `where id = $1 and attempt = $2 and status = 'processing' and progress <= $4`,
      to: `where id = $1 and $2::int > 0 and status = 'processing' and progress <= $4`,
    },
  ],
  'a forgotten sweep': [
    {
      file: 'controller/upkeep/cleanup.ts',
      from: 'return removeAllButLast(media, `${workRoot(jobId)}/`);',
      to: 'return [];',
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
  'a deletion without its fence': [
    { file: 'platform/postgres/deletion-fence.ts', from: 'return rows[0]?.is_so === true;', to: 'return !rows;' },
  ],
  'half a surrogate in results': [
    {
      file: 'platform/postgres/job-end.ts',
      from: 'toJson(final.results),',
      to: String.raw`toJson(final.results)?.replace('"hls"', '"hls\\ud83d"') ?? null,`,
    },
  ],
  'a lease by the local clock': [
    {
      file: 'platform/postgres/job-attempts.ts',
      from: `[statusesBefore('completed'), now,`,
      to: `[statusesBefore('completed'), now ?? new Date(),`,
    },
  ],
  'a status that goes back': [
    {
      file: 'platform/postgres/webhook-event-store.ts',
      from: `'update jobs set callback_status = $2 where id = $1'`,
      to: `"update jobs set callback_status = $2, status = 'processing' where id = $1"`,
    },
  ],
  'an outage that counts as a failure': [
    {
      file: 'jobs/completion/conclude-attempt.ts',
      from: '(await storageWatch.isOutage())',
      to: '!(await storageWatch.isOutage())',
    },
  ],
  'a source that was replaced': [
    { file: 'runner/steps/fetch.ts', from: '...(etag === null ? {} : { ifMatch: etag })', to: '' },
    { file: 'runner/steps/fetch.ts', from: 'task.source.size !== info.sizeBytes', to: 'task.source.size === -1' },
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
  'an upload that replaces another': [
    { file: 'domain/uploads/upload-key.ts', from: 'return `${prefix}${id}/', to: 'return `${prefix}' },
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
  'an event that is not remembered': [
    { file: 'jobs/submission/submit-bucket-events.ts', from: 'await bucketEvents.note(event, job.id);', to: '' },
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
} as const satisfies Readonly<Record<string, readonly Edit[]>>;

export type PlantedBug = keyof typeof plantedBugs;
