import { afterAll, it } from 'vitest';
import { expectVideo } from '../../testing/judged-video.ts';
import { removeRigs } from '../../testing/runner.ts';
import { videoFormats } from '../../testing/video-corpus.ts';

// Containers, codecs, frame rates and sizes; corpus-videos.md has the table.

afterAll(removeRigs);

it.concurrent.each(videoFormats)('$name', expectVideo);
