import { stat } from 'node:fs/promises';
import type { Config, DeliveryConfig } from './config.ts';

/** A fault for each bucket that is a folder and does not exist. Only looked for by `--check-config`. */
export async function missingFolders({ source, media }: Config | DeliveryConfig): Promise<string[]> {
  const faults = [];
  const folders = { SOURCE_BUCKET: source?.dir, MEDIA_BUCKET: media.dir, WORK_BUCKET: media.work?.dir };
  for (const [name, dir] of Object.entries(folders)) {
    if (dir === undefined) continue;
    const isFolder = await stat(dir).then(
      (found) => found.isDirectory(),
      () => false,
    );
    if (!isFolder) faults.push(`${name}: expected a folder that exists, found none at ${dir}`);
  }
  return faults;
}
