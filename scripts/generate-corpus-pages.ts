import { writeFile } from 'node:fs/promises';
import { imagePage } from '../testing/image-corpus.ts';
import { corpusPage } from '../testing/video-corpus.ts';

// Writes the pages of the test videos and images, beside their tests: `node scripts/generate-corpus-pages.ts`. A test
// compares the pages with what this generates.

const folder = new URL('../test/integration/', import.meta.url);

/** The pages, each with its contents. */
export const corpusPages: readonly (readonly [file: URL, text: () => string])[] = [
  [new URL('corpus-videos.md', folder), corpusPage],
  [new URL('corpus-images.md', folder), imagePage],
];

if (import.meta.main) for (const [file, text] of corpusPages) await writeFile(file, text());
