"""How digits.csv came to be: every combination was trained once, with three shares of the images.

Small networks read handwritten digits, 1,797 real images that come with scikit-learn. Seconds are those of the
processor, so that a busy machine changes little.

    python measure.py > digits.csv     # about a minute; needs scikit-learn
"""

import time
from itertools import product

from sklearn.datasets import load_digits
from sklearn.neural_network import MLPClassifier

IMAGES, LABELS = load_digits(return_X_y=True)
TRAIN = 1300
EPOCHS = 15


def train(lr: float, hidden: int, batch: int, count: int) -> tuple[float, float]:
    """Seconds and accuracy of one training on the first `count` images."""
    began = time.process_time()
    network = MLPClassifier((hidden,), learning_rate_init=lr, batch_size=min(batch, count), random_state=0)
    for _ in range(EPOCHS):
        network.partial_fit(IMAGES[:count] / 16, LABELS[:count], classes=range(10))
    return time.process_time() - began, network.score(IMAGES[TRAIN:] / 16, LABELS[TRAIN:])


def main() -> None:
    """Print the table."""
    print("lr,hidden,batch,images,seconds,accuracy")
    for lr, hidden, batch in product((0.0003, 0.001, 0.003, 0.01, 0.03), (16, 64, 256), (16, 64, 256)):
        for count in (130, 390, TRAIN):
            seconds, accuracy = train(lr, hidden, batch, count)
            print(f"{lr},{hidden},{batch},{count},{seconds:.4f},{accuracy:.4f}", flush=True)


if __name__ == "__main__":
    main()
