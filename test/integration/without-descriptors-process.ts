// Does one thing while this process has no free descriptor, one, and so on to LEFT_MAX, and again once it has many.
// Prints as JSON how it failed, and how it ended at last:
//   bash -c 'ulimit -n 64; exec node without-descriptors-process.ts NAME LEFT_MAX'
import { closeSync, openSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isJobProblem } from '#domain/errors.ts';
import { asProblem } from '#domain/resource-problem.ts';
import { runCommand } from '#platform/commands/run-command.ts';
import { ImageProcessor } from '#platform/images/image-processor.ts';
import { sharp } from '#platform/images/sharp.ts';
import { decodeInWasm } from '#platform/images/wasm-decoder.ts';
import { openFolderStore } from '#platform/storage/folder/folder-store.ts';

const [name = '', leftMax = ''] = process.argv.slice(2);

const pixel = sharp({ create: { width: 4, height: 4, channels: 3, background: '#fff' } });
const [png, tiff] = [await pixel.clone().png().toBuffer(), await pixel.clone().tiff().toBuffer()];
const images = new ImageProcessor();
const work = { width: 4, height: 4, fit: 'cover', format: 'png', quality: 80, operations: {} } as const;
const decode = () => decodeInWasm(tiff, 'tiff', { pixelsMax: 1e6, timeoutMs: 15_000, waitingMax: 1 });
const dir = await mkdtemp(join(tmpdir(), 'reelwright-descriptors-'));
const store = openFolderStore(dir);

interface Case {
  /** The preparation, which runs while descriptors are free. */
  readonly prepare?: () => Promise<unknown>;
  readonly work: () => Promise<unknown>;
}

const cases: Readonly<Record<string, Case>> = {
  image: { work: () => images.make(() => Promise.resolve([png]), work) },
  decoder: { work: decode },
  thread: { prepare: decode, work: decode },
  folder: { work: () => store.put('a/b', Buffer.from('c'), { contentType: 'text/plain' }) },
  command: { work: () => runCommand({ program: 'true', args: [] }, { timeoutMs: 5_000 }) },
};
const chosen = cases[name];
if (chosen === undefined) throw new TypeError(`no case ${name}`);

/** `ok`, or the error as a runner would report it. */
async function outcome(): Promise<string> {
  try {
    await chosen?.work();
    return 'ok';
  } catch (error) {
    const problem = asProblem(error);
    return isJobProblem(problem) ? `${problem.code}: ${problem.message}` : String(error);
  }
}

/** Opens files until no descriptor is free. */
function takeDescriptors(): number[] {
  const taken: number[] = [];
  try {
    for (;;) taken.push(openSync('/dev/null', 'r'));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EMFILE') throw error;
  }
  return taken;
}

await chosen.prepare?.();
const taken = takeDescriptors();
const outcomes = new Set<string>();
for (let left = 0; left <= Number(leftMax); left += 1) {
  outcomes.add(await outcome());
  // An error that is emitted later ends this process.
  await new Promise((resolve) => setImmediate(resolve));
  for (const descriptor of taken.splice(0, 1)) closeSync(descriptor);
}
for (const descriptor of taken) closeSync(descriptor);
const after = await outcome();
await images.close();
await rm(dir, { recursive: true });
outcomes.delete('ok');
process.stdout.write(JSON.stringify({ failures: [...outcomes], after }));
