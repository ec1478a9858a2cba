import { wireKeyboard } from './keyboard.js';

// The controls of the stage: play, seek with a preview, volume and full screen. They use only the media element, not
// the player library.

/** Controls over the video (full screen) hide after this long without input. */
const idleMs = 2500;

const element = (id) => document.getElementById(id);

export function clockText(seconds) {
  const whole = Math.max(0, Math.floor(Number.isFinite(seconds) ? seconds : 0));
  const parts = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  const shown = parts[0] > 0 ? parts : parts.slice(1);
  return shown.map((part, index) => (index === 0 ? String(part) : String(part).padStart(2, '0'))).join(':');
}

/** Seconds buffered after the current position. */
export function bufferedAhead(video) {
  for (let index = 0; index < video.buffered.length; index += 1) {
    const isHere = video.buffered.start(index) <= video.currentTime + 0.1;
    if (isHere && video.buffered.end(index) >= video.currentTime) return video.buffered.end(index) - video.currentTime;
  }
  return 0;
}

/**
 * @param video the media element
 * @param preview `tileAt(time)`: the storyboard tile at a time in seconds, or null; `titleAt(time)`: the chapter's
 * title, or ''
 * @param actions what keys do to the menus: see `bindings` in keyboard.js
 */
export function wireControls(video, { tileAt, titleAt, ...actions }) {
  const stage = element('stage');
  const seek = element('seek');
  let isScrubbing = false;

  const toggle = () => (video.paused ? video.play().catch(() => showState()) : video.pause());
  const toggleFullScreen = () => {
    if (document.fullscreenElement) void document.exitFullscreen();
    else if (stage.requestFullscreen) void stage.requestFullscreen();
    // iPhones support full screen for the video element only.
    else video.webkitEnterFullscreen?.();
  };
  const showState = () => {
    const isPlaying = !video.paused && !video.ended;
    const isWithoutStream = ['empty', 'failed'].includes(stage.dataset.state);
    if (isPlaying || !isWithoutStream) stage.dataset.state = isPlaying ? 'playing' : 'paused';
    element('play').setAttribute('aria-label', isPlaying ? 'Pause' : 'Play');
    element('big-play').hidden = isPlaying || stage.dataset.state !== 'paused' || !element('message').hidden;
  };
  const showTime = () => {
    const duration = Number.isFinite(video.duration) ? video.duration : 0;
    seek.max = String(duration);
    if (!isScrubbing) seek.value = String(video.currentTime);
    seek.setAttribute('aria-valuetext', `${clockText(video.currentTime)} of ${clockText(Math.round(duration))}`);
    const percentOf = (time) => `${duration > 0 ? Math.min(100, (100 * time) / duration) : 0}%`;
    seek.style.setProperty('--played', percentOf(isScrubbing ? Number(seek.value) : video.currentTime));
    seek.style.setProperty('--buffered', percentOf(video.currentTime + bufferedAhead(video)));
    element('now').textContent = clockText(isScrubbing ? Number(seek.value) : video.currentTime);
    element('duration').textContent = clockText(Math.round(duration));
  };
  const showVolume = () => {
    element('mute').setAttribute('aria-pressed', String(video.muted || video.volume === 0));
    element('volume').value = String(video.muted ? 0 : video.volume);
    element('volume').style.setProperty('--played', `${100 * Number(element('volume').value)}%`);
  };

  for (const id of ['play', 'big-play']) element(id).addEventListener('click', toggle);
  video.addEventListener('click', toggle);
  video.addEventListener('dblclick', toggleFullScreen);
  for (const name of ['play', 'playing', 'pause', 'ended', 'emptied']) video.addEventListener(name, showState);
  for (const name of ['timeupdate', 'durationchange', 'progress', 'seeked', 'emptied'])
    video.addEventListener(name, showTime);
  video.addEventListener('volumechange', showVolume);

  seek.addEventListener('input', () => {
    isScrubbing = true;
    showTime();
  });
  seek.addEventListener('change', () => {
    isScrubbing = false;
    video.currentTime = Number(seek.value);
  });
  element('mute').addEventListener('click', () => (video.muted = !video.muted));
  element('volume').addEventListener('input', () => {
    video.volume = Number(element('volume').value);
    video.muted = video.volume === 0;
  });
  element('fullscreen').addEventListener('click', toggleFullScreen);
  wireScrubTip(video, { tileAt, titleAt });
  wireKeyboard(video, { togglePlay: toggle, toggleFullScreen, ...actions });
  hideWhenIdle(stage);
  showVolume();

  return {
    showState,
    enable(isEnabled) {
      seek.disabled = !isEnabled;
      element('play').disabled = !isEnabled;
    },
  };
}

/** The tip over the seek bar: a frame of the time under the pointer, its chapter and its clock. */
function wireScrubTip(video, { tileAt, titleAt }) {
  const [seek, tip, frame] = [element('seek'), element('scrub-tip'), element('scrub-frame')];
  let lookups = 0;
  const show = async (pointerX) => {
    if (seek.disabled || !Number.isFinite(video.duration)) return;
    const { left, width } = seek.getBoundingClientRect();
    const share = Math.min(1, Math.max(0, (pointerX - left) / width));
    const time = share * video.duration;
    const title = titleAt(time);
    tip.hidden = false;
    element('scrub-title').hidden = title === '';
    element('scrub-title').textContent = title;
    element('scrub-time').textContent = clockText(time);
    placeTip(tip, left + share * width);
    const lookup = (lookups += 1);
    const tile = await tileAt(time).catch(() => null);
    // The pointer has moved meanwhile.
    if (lookup !== lookups) return;
    frame.hidden = tile === null;
    if (tile !== null) showTile(frame, tile);
    placeTip(tip, left + share * width);
  };
  seek.addEventListener('pointermove', ({ clientX }) => void show(clientX));
  seek.addEventListener('pointerleave', () => {
    lookups += 1;
    tip.hidden = true;
    liftCaptions();
  });
}

/** Centres the tip at `x` of the window, as far as it stays within the stage. */
function placeTip(tip, x) {
  const margin = 4;
  const half = tip.offsetWidth / 2;
  const stage = element('stage').getBoundingClientRect();
  const centre = Math.min(stage.right - half - margin, Math.max(stage.left + half + margin, x));
  tip.style.left = `${centre - tip.parentElement.getBoundingClientRect().left}px`;
  liftCaptions();
}

/** Lifts the captions, which browsers show at the lower edge of the video, above what lies over that edge. */
function liftCaptions() {
  const { bottom } = element('screen').getBoundingClientRect();
  const isBarShown = document.fullscreenElement !== null && !('idle' in element('stage').dataset);
  const over = [
    ...(element('scrub-tip').hidden ? [] : [element('scrub-tip')]),
    ...(isBarShown ? [element('controls')] : []),
  ];
  const lift = Math.max(0, ...over.map((each) => bottom - each.getBoundingClientRect().top));
  element('screen').style.setProperty('--lift', `${Math.round(lift)}px`);
}

function showTile(frame, { uri, positionX, positionY, width, height, imageWidth, imageHeight }) {
  const scale = 160 / Math.max(width, height);
  Object.assign(frame.style, {
    width: `${width * scale}px`,
    height: `${height * scale}px`,
    backgroundImage: `url(${JSON.stringify(uri)})`,
    backgroundPosition: `${-positionX * scale}px ${-positionY * scale}px`,
    backgroundSize: `${imageWidth * scale}px ${imageHeight * scale}px`,
  });
}

/** Marks the stage as idle after a time without input; style.css then hides controls that lie over the video. */
function hideWhenIdle(stage) {
  let timer;
  const sleep = () => {
    // An open menu is being read.
    if (!element('panel').hidden) return;
    stage.dataset.idle = '';
    liftCaptions();
  };
  const wake = () => {
    delete stage.dataset.idle;
    liftCaptions();
    clearTimeout(timer);
    timer = setTimeout(sleep, idleMs);
  };
  for (const name of ['pointermove', 'pointerdown', 'keydown', 'focusin', 'fullscreenchange'])
    document.addEventListener(name, wake);
}
