import { describe, expect, it } from 'vitest';
import { BlockPool } from './blocks.ts';

describe('blocks', () => {
  it('a block is handed on in pieces, each with the bytes filled since the one before', () => {
    const block = new BlockPool().take();
    expect(block.handOn()).toBeNull();
    block.fill(block.room.write('abc'));
    const first = block.handOn();
    block.fill(block.room.write('de'));
    const second = block.handOn();
    expect([first?.bytes.toString(), second?.bytes.toString()]).toEqual(['abc', 'de']);
    expect(block.handOn()).toBeNull();
  });

  it('a block is reused once all of its pieces are released, and not before', () => {
    const pool = new BlockPool();
    const block = pool.take();
    block.fill(1);
    const piece = block.handOn();
    piece?.retain();
    block.release();
    piece?.release();
    const other = pool.take();
    expect(other.room.buffer).not.toBe(piece?.bytes.buffer);
    piece?.release();
    expect(pool.take().room.buffer).toBe(piece?.bytes.buffer);
  });
});
