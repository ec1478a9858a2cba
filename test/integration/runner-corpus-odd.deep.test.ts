import { afterAll, it } from 'vitest';
import { expectVideo } from '../../testing/judged-video.ts';
import { removeRigs } from '../../testing/runner.ts';
import { oddVideos } from '../../testing/video-corpus.ts';

// Orientations, audio, times, damage and refusals; corpus-videos.md has the table.

afterAll(removeRigs);

it.concurrent.each(oddVideos)('$name', expectVideo);
