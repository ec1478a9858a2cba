import { expect, it } from 'vitest';
import { decodeProblem } from './open-image.ts';

it.each([
  ['damaged content', 'VipsJpeg: premature end of JPEG image', 'corrupt_input'],
  ['more tiles than libheif allows', 'heif: Security limit exceeded', 'limit_exceeded'],
  ['JPEG-LS', 'VipsJpeg: Unsupported marker type 0xf7', 'unsupported_media'],
  ['memory that the machine does not have', 'vips_tracked: out of memory -- size == 244MB', 'resource_exhausted'],
])('%s is the problem that decides whether the job is tried again', (_, message, code) => {
  expect(() => decodeProblem(new Error(message))).toThrow(expect.objectContaining({ code }));
});
