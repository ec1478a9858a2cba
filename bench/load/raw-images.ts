import { readFile, writeFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';

// The floor of image jobs: sharp in one warm process, from a file to a file, with the settings of a thumbnail. Its
// arguments are the folder, how many images it makes, and how many at once ("one", or "all" cores). It prints the time
// and the processor time of an image.

const [folder = '', count = '', atOnce = ''] = process.argv.slice(2);
sharp.cache(false);
if (atOnce === 'all') sharp.concurrency(1);

async function make(name: string): Promise<void> {
  const source = await readFile(join(folder, 'photo.jpg'));
  const image = sharp(source).autoOrient().resize({ width: 300, withoutEnlargement: true }).toColourspace('srgb');
  await writeFile(join(folder, `${name}.webp`), await image.webp({ quality: 80, effort: 4 }).toBuffer());
}

for (let n = 0; n < 5; n += 1) await make('warm');
const left = Array.from({ length: Number(count) }, (_, index) => index).values();
const [beganMs, beganCpu] = [performance.now(), process.cpuUsage()];
await Promise.all(
  Array.from({ length: atOnce === 'all' ? availableParallelism() : 1 }, async (_, worker) => {
    for (const n of left) await make(`${worker}-${n}`);
  }),
);
const { user, system } = process.cpuUsage(beganCpu);
const timeMs = (performance.now() - beganMs) / Number(count);
process.stdout.write(JSON.stringify({ timeMs, cpuMs: (user + system) / 1000 / Number(count) }));
