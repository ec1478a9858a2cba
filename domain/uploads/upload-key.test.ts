import { expect, it } from 'vitest';
import { sourceKeySchema } from '../jobs/submission.ts';
import { uploadKey } from './upload-key.ts';

const id = '0b6f1c52-7d0e-4c7a-9d2b-3f5a1e8c6d40';

it.each([
  ['movie-1.mp4', 'movie-1.mp4'],
  ['My clip (1).MP4', 'My_clip__1_.MP4'],
  ['../../etc/passwd', 'passwd'],
  ['C:\\videos\\a.mov', 'a.mov'],
  ['..', 'file'],
  ['.env', 'env'],
  ['/', 'file'],
  ['Größe.mkv', 'Größe.mkv'],
  ['a\u0000b\u202ec.mp4', 'a_b_c.mp4'],
  ['a.b.tar', 'a.b.tar'],
  [`${'ä'.repeat(300)}.mp4`, `${'ä'.repeat(98)}.mp4`],
])('a file named %j gets the key that ends with %j, which every store and job takes', (name, kept) => {
  const key = uploadKey('uploads/', id, name);
  expect(key).toBe(`uploads/${id}/${kept}`);
  expect(sourceKeySchema.safeParse(key).success).toBe(true);
});
