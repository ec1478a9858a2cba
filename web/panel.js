import { elementOf } from './elements.js';

// The panel of menus, and what its buttons do: picture in picture, and playback on another device.

/** Opens and closes the panel: by its button, and closed by Escape and by a click elsewhere. */
export function wirePanel() {
  const [button, panel] = [elementOf('settings', HTMLButtonElement), elementOf('panel', HTMLElement)];
  /** @param {boolean} isOpen */
  const set = (isOpen) => {
    panel.hidden = !isOpen;
    button.setAttribute('aria-expanded', String(isOpen));
  };
  const toggle = () => {
    set(panel.hasAttribute('hidden'));
    const first = panel.querySelector('select:enabled');
    if (!panel.hidden && first instanceof HTMLSelectElement) first.focus();
  };
  button.addEventListener('click', toggle);
  document.addEventListener('pointerdown', ({ target }) => {
    if (!panel.hidden && target instanceof Node && !panel.contains(target) && !button.contains(target)) set(false);
  });
  document.addEventListener('keydown', (event) => {
    if (event.key !== 'Escape' || panel.hidden) return;
    // The first Escape closes the panel alone, and not full screen.
    event.preventDefault();
    set(false);
    button.focus();
  });
  return { toggle };
}

/** @param {HTMLVideoElement} video */
export function wirePictureInPicture(video) {
  const button = elementOf('picture-in-picture', HTMLButtonElement);
  button.hidden = !document.pictureInPictureEnabled;
  button.addEventListener('click', () => {
    const change = document.pictureInPictureElement ? document.exitPictureInPicture() : video.requestPictureInPicture();
    // The browser refuses before there is a frame.
    change.catch(() => undefined);
  });
}

/**
 * The button is shown while the browser knows of a device that can play the stream: by the Remote Playback API, which
 * is AirPlay in Safari. A device cannot fetch the key of an encrypted stream.
 *
 * @param {HTMLVideoElement} video
 * @param {() => boolean} isClear
 */
export function wireCast(video, isClear) {
  // Firefox has none.
  if (!('remote' in video)) return;
  const button = elementOf('cast', HTMLButtonElement);
  const { remote } = video;
  let isAvailable = false;
  const show = () => {
    const isConnected = remote.state !== 'disconnected';
    button.hidden = !isConnected && !(isAvailable && isClear());
    button.textContent = isConnected ? 'Play here again' : 'Play on another device';
  };
  for (const name of ['connecting', 'connect', 'disconnect']) remote.addEventListener(name, show);
  for (const name of ['loadedmetadata', 'emptied']) video.addEventListener(name, show);
  // The user may close the list of devices.
  button.addEventListener('click', () => void remote.prompt().catch(() => undefined));
  const watching = remote.watchAvailability((isFound) => {
    isAvailable = isFound;
    show();
  });
  // A browser that does not look for devices in the background has no button.
  watching.catch(() => undefined);
}
