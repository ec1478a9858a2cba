import { fieldManager } from '#platform/kubernetes/client.ts';
import type { RunnerPool } from '#platform/kubernetes/objects.ts';

/** The field manager of the concurrency, as long as the settings size a pool. */
export const sizeManager = 'reelwright-pool-size';

/** Whether another field manager owns the concurrency. */
export function isSizedByOthers({ metadata }: RunnerPool): boolean {
  const ours = [sizeManager, fieldManager];
  return (metadata?.managedFields ?? []).some(({ manager = '', fieldsV1 }) => {
    const spec = fieldsV1?.['f:spec'] as Record<string, unknown> | undefined;
    return spec !== undefined && 'f:concurrency' in spec && !ours.includes(manager);
  });
}
