import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import sharp, { type Region, type ResizeOptions } from 'sharp';

// The floor of an image that is made while a client waits: sharp, with the options of ours, with as many images at
// once as there are cores. No request, no signature, no cache, no process boundary. Its arguments are the folder of the
// images, the options of `resize` as JSON and, as JSON too, those of `extract` before it; it says how many a second it
// made, and the digest of the first.

const [folder = '', resize = '', extract = ''] = process.argv.slice(2);
const size = JSON.parse(resize) as ResizeOptions;
const part = extract === '' ? null : (JSON.parse(extract) as Region);
sharp.cache(false);
sharp.concurrency(1);

async function make(name: string): Promise<Buffer> {
  const source = await readFile(join(folder, name));
  const limits = { limitInputPixels: 100_000_000, failOn: 'error' } as const;
  const image = sharp(source, limits);
  const resized = (part === null ? image : image.extract(part)).resize({ ...size, withoutEnlargement: true });
  return resized.toColourspace('srgb').webp({ quality: 80, effort: 2 }).toBuffer();
}

const names = (await readdir(folder)).toSorted();
const first = await make(names[0] ?? '');
const left = names.values();
const beganMs = performance.now();
await Promise.all(
  Array.from({ length: availableParallelism() }, async () => {
    for (const name of left) await make(name);
  }),
);
const perSecond = names.length / ((performance.now() - beganMs) / 1000);
process.stdout.write(JSON.stringify({ perSecond, digest: createHash('sha256').update(first).digest('hex') }));
