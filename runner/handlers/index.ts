import type { JobType } from '#domain/job-types/index.ts';
import type { Task } from '#domain/work/task.ts';
import type { UnitKind } from '#domain/work/unit.ts';
import type { JobHandler, UnitHandler } from './job-handler.ts';

type Loaders = { readonly [T in JobType]: () => Promise<{ readonly handler: JobHandler<T> }> };

/** A step loads only the handler that it needs. A job type or a unit without a handler does not compile. */
const loaders: Loaders = {
  'image:thumbnail': () => import('./image-thumbnail/handler.ts'),
  'video:cover': () => import('./video-cover/handler.ts'),
  'video:preview': () => import('./video-preview/handler.ts'),
  'video:transcode': () => import('./video-transcode/handler.ts'),
  'video:full': () => import('./video-full/handler.ts'),
};

/** Loads the handler of a task's unit. @throws TypeError for a unit that the job type does not have */
export async function loadHandler({ type, unit }: Task): Promise<UnitHandler> {
  const { handler } = await loaders[type]();
  const unitHandler = (handler as Partial<Record<UnitKind, UnitHandler>>)[unit.kind];
  if (unitHandler === undefined) throw new TypeError(`a job of type ${type} has no unit ${unit.kind}`);
  return unitHandler;
}
